"""The built-in scenes as packs that every table can be made of, prepared by the product's own commands in seconds.

Backbone and sentence encoder are networks of a few numbers with random weights: what they say of an image or a
sentence is of no use, but it goes through the same code as what a good one says.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from small_recipes import WIDTH
from tellapart.cli.annotate import AnnotateOptions, annotate
from tellapart.cli.extract import ExtractOptions, extract
from tellapart.cli.join import JoinOptions, join
from tellapart.cli.prepare import PrepareOptions, prepare
from tellapart.data.join import CorpusFilter
from tellapart.data.scenes.drawing import SHAPES

IMAGES = 24
"""16 to train on, 4 to validate, 4 to test."""


def save_small_backbone(folder: Path) -> Path:
    """A vision transformer of one layer that sees 4 x 4 patches."""
    import torch
    import transformers

    config = transformers.ViTConfig(
        hidden_size=WIDTH,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=WIDTH,
        image_size=32,
        patch_size=8,
    )
    torch.manual_seed(0)
    transformers.ViTModel(config).save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps({"size": {"height": 32, "width": 32}}))
    return folder


def save_small_encoder(folder: Path, words: list[str]) -> Path:
    """A BERT of one layer that knows these words."""
    import torch
    import transformers

    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words) + 5,
        hidden_size=WIDTH,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=WIDTH,
    )
    torch.manual_seed(0)
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def paired_scenes(folder: Path) -> Path:
    """Scenes with vectors, grids and regions, sentence targets, nouns and object words: all but R2M's tables."""
    pytest.importorskip("transformers")
    pack = prepare(PrepareOptions("scenes", folder / "scenes", scene_count=IMAGES, scene_size=64))
    backbone = save_small_backbone(folder / "backbone")
    kinds = "vector,grid,regions"
    extract(
        ExtractOptions(pack.folder, backbone=str(backbone), kind=kinds, count=6, flip=True, workers=1, progress=False)
    )
    encoder = save_small_encoder(folder / "encoder", pack.vocabulary.words[4:])
    # Recipes ask for the targets by MiniLM's name.
    annotate(
        AnnotateOptions(
            pack.folder, sentence_targets=str(encoder), targets_name="targets-minilm", objects=True, object_least=2
        )
    )
    return pack.folder


def unpaired_scenes(paired: Path, folder: Path) -> Path:
    """The same images, and sentences about other scenes: what R2M's tables learn from."""
    others = prepare(PrepareOptions("scenes", folder / "others", scene_count=IMAGES, scene_size=32, seed=1))
    (folder / "corpus.txt").write_text("\n".join(caption.text for caption in others.captions))
    corpus = prepare(PrepareOptions(str(folder / "corpus.txt"), folder / "corpus", format="corpus", min_count=1))
    (folder / "concepts.txt").write_text("\n".join(SHAPES))
    filters = CorpusFilter(least_words=4, least_count=1, held_out=0.2)
    joined = join(
        JoinOptions(paired, corpus.folder, folder / "joined", concepts=folder / "concepts.txt", filters=filters)
    )
    return joined.folder
