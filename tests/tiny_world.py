"""A small made-up world for matcher tests: images whose features tell which words describe them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from tellapart.core.files import save_array, write_json
from tellapart.data.batches import Batches
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Caption, PackImage
from tellapart.data.write_pack import write_pack
from tellapart.models.inputs import ModelInputs
from tellapart.objectives.context import Context
from tellapart.text.vocabulary import Vocabulary

WORDS = ("a", "dog", "cat", "runs", "sleeps", "on", "grass", "sand", "red", "blue", "ball")
WIDTH = 12


def tiny_context(folder: Path, images: int = 12, rows: int = 4, columns: tuple[str, ...] = ()) -> Context:
    """A pack of random sentences, two per image, grid features `grid` with boxes, and the columns nouns and
    targets."""
    random = np.random.default_rng(0)
    vocabulary = Vocabulary.from_words(WORDS)
    splits = ["train"] * (images - 4) + ["val"] * 2 + ["test"] * 2
    captions = []
    for image in range(images):
        for _ in range(2):
            words = tuple(random.choice(WORDS, size=int(random.integers(2, 7))).tolist())
            captions.append(Caption(image, " ".join(words), words, splits[image]))
    made = [PackImage(str(i), "", split) for i, split in enumerate(splits)]
    pack = write_pack(folder / "pack", "tiny", "", made, captions, vocabulary, {})
    nouns = np.isin(pack.tokens, vocabulary.encode(["dog", "cat", "grass", "sand", "ball"]))
    pack.save_column("nouns", nouns, "token")
    pack.save_column("targets", random.standard_normal((len(captions), 6)).astype(np.float32), "caption")
    _write_features(pack, images, rows, random)
    store = FeatureStore(pack.feature_folder("grid"))
    inputs = ModelInputs(vocabulary, store.width, rows)
    return Context(Pack(pack.folder), inputs, Batches(pack, store, columns), store, torch.device("cpu"))


def _write_features(pack: Pack, images: int, rows: int, random: np.random.Generator) -> None:
    folder = pack.feature_folder("grid")
    folder.mkdir(parents=True)
    counts = random.integers(max(1, rows - 2), rows + 1, size=images)
    random.standard_normal((int(counts.sum()), WIDTH)).astype(np.float16).tofile(folder / "values.f16")
    save_array(folder / "offsets.npy", np.concatenate([[0], np.cumsum(counts)]))
    corners = random.random((int(counts.sum()), 2)).astype(np.float32) / 2
    save_array(folder / "boxes.npy", np.concatenate([corners, corners + 0.3], axis=1))
    write_json(folder / "features.json", {"kind": "regions", "width": WIDTH})
