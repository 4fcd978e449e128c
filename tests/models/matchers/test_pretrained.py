"""CLIP-like models: equal to transformers' own scores, from pixels and from stored features. Models are tiny, made
here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.core.types import Batch, Images
from tellapart.losses import Contrast
from tellapart.models.inputs import ModelInputs
from tellapart.models.matchers.pretrained import Pretrained
from tellapart.objectives.ranking import Ranking
from tiny_world import WORDS, tiny_context

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")
SIZES = {"hidden_size": 12, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    """A CLIP with one layer a side; every letter ends a word or does not, as in CLIP's byte pairs."""
    folder = tmp_path / "clip"
    folder.mkdir()
    letters = sorted(set("".join(WORDS)))
    pieces = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({piece: row for row, piece in enumerate(pieces)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    transformers.CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt")).save_pretrained(folder)
    text = {
        **SIZES, "vocab_size": len(pieces), "max_position_embeddings": 60,
        "bos_token_id": len(pieces) - 2, "eos_token_id": len(pieces) - 1,
    }  # fmt: skip
    vision = {**SIZES, "image_size": 16, "patch_size": 8}
    torch.manual_seed(0)
    transformers.CLIPModel(
        transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=8)
    ).save_pretrained(folder)
    return folder


def with_pixels(images: Images) -> Images:
    pixels = torch.randint(0, 255, (len(images), 3, 16, 16), generator=torch.Generator().manual_seed(0))
    return Images(images.features, images.mask, pixels=pixels.byte())


def test_scores_equal_the_models_own(tmp_path: Path, clip: Path) -> None:
    context = tiny_context(tmp_path)
    matcher = Pretrained(str(clip)).build(context.inputs).eval()
    images = with_pixels(context.batches.images(np.arange(3)))
    texts = context.batches.texts(np.arange(4))
    with torch.no_grad():
        found = matcher.score(matcher.encode_image(images), matcher.encode_text(texts))
        model = transformers.CLIPModel.from_pretrained(clip).eval()
        tokeniser = transformers.AutoTokenizer.from_pretrained(clip)
        words = [context.pack.captions[row].text for row in range(4)]
        pieces = tokeniser(words, padding=True, return_tensors="pt")
        assert images.pixels is not None
        pixels = (images.pixels.float() / 255 - matcher.mean) / matcher.std
        outputs = model(**pieces, pixel_values=pixels)
    assert torch.allclose(found, outputs.logits_per_image / model.logit_scale.exp(), atol=1e-5)


def test_stored_features_are_the_towers_own(tmp_path: Path, clip: Path) -> None:
    context = tiny_context(tmp_path)
    inputs = ModelInputs(context.inputs.vocabulary, 12)
    matcher = Pretrained(str(clip)).build(inputs).eval()
    images = with_pixels(context.batches.images(np.arange(3)))
    assert images.pixels is not None
    with torch.no_grad():
        pixels = (images.pixels.float() / 255 - matcher.mean) / matcher.std
        pooled = matcher.model.vision_model(pixel_values=pixels).pooler_output
        stored = Images(pooled.unsqueeze(1), torch.ones(3, 1, dtype=torch.bool))
        assert torch.allclose(matcher.encode_image(stored).vectors, matcher.encode_image(images).vectors, atol=1e-5)
    with pytest.raises(InputError, match="vision tower gives 12"):
        matcher.encode_image(Images(torch.zeros(1, 1, 9), torch.ones(1, 1, dtype=torch.bool)))


def test_it_is_tuned_with_a_ranking_loss(tmp_path: Path, clip: Path) -> None:
    context = tiny_context(tmp_path)
    matcher = Pretrained(str(clip)).build(context.inputs).train()
    objective = Ranking(Contrast("info-nce")).build(matcher, context)
    batch = context.batches.batch(np.arange(8))
    batch = Batch(with_pixels(batch.images), batch.texts, batch.owner, batch.image_rows, batch.caption_rows)
    optimiser = torch.optim.Adam(matcher.parameters(), 1e-2)
    losses = []
    for _ in range(10):
        optimiser.zero_grad()
        loss = objective(batch)["loss"]
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


@pytest.fixture
def siglip(tmp_path: Path) -> Path:
    """A SigLIP with one layer a side, over whole words, with an end token only."""
    folder = tmp_path / "siglip"
    pieces = {"<pad>": 0, "</s>": 1, "<unk>": 2, **{word: row + 3 for row, word in enumerate(WORDS)}}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(pieces, unk_token="<unk>"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s>", pair="$A $B </s>", special_tokens=[("</s>", 1)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    text = {**SIZES, "vocab_size": len(pieces), "max_position_embeddings": 16, "projection_size": 12, "pad_token_id": 0}
    vision = {**SIZES, "image_size": 16, "patch_size": 8}
    torch.manual_seed(0)
    transformers.SiglipModel(transformers.SiglipConfig(text_config=text, vision_config=vision)).save_pretrained(folder)
    return folder


def test_siglip_reads_sentences_padded_to_full_length(tmp_path: Path, siglip: Path) -> None:
    context = tiny_context(tmp_path)
    matcher = Pretrained(str(siglip), mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5)).build(context.inputs).eval()
    images = with_pixels(context.batches.images(np.arange(3)))
    texts = context.batches.texts(np.arange(4))
    assert images.pixels is not None
    with torch.no_grad():
        found = matcher.score(matcher.encode_image(images), matcher.encode_text(texts))
        model = transformers.SiglipModel.from_pretrained(siglip).eval()
        tokeniser = transformers.AutoTokenizer.from_pretrained(siglip)
        words = [context.pack.captions[row].text for row in range(4)]
        pieces = tokeniser(words, padding="max_length", max_length=16, return_tensors="pt")["input_ids"]
        outputs = model(input_ids=pieces, pixel_values=images.pixels.float() / 127.5 - 1)
    cosines = (outputs.logits_per_image - model.logit_bias) / model.logit_scale.exp()
    assert torch.allclose(found, cosines, atol=1e-4)


def test_what_is_no_dual_encoder_is_rejected(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    with pytest.raises(InputError, match="cannot be opened"):
        Pretrained(str(tmp_path)).build(context.inputs)
