"""A small made-up world for matcher tests: pictures whose features tell which words describe them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from tellapart.data.batches import Batches
from tellapart.data.files import save_array, write_json
from tellapart.data.pack import Caption, Pack, Picture, write_pack
from tellapart.objectives.context import Context
from tellapart.text.vocabulary import Vocabulary
from tellapart.types import ModelInputs
from tellapart.vision.store import FeatureStore

WORDS = ("a", "dog", "cat", "runs", "sleeps", "on", "grass", "sand", "red", "blue", "ball")
WIDTH = 12


def tiny_context(folder: Path, pictures: int = 12, rows: int = 4, columns: tuple[str, ...] = ()) -> Context:
    """A pack of random sentences, two a picture, grid features `grid` with boxes, and the columns nouns and
    targets."""
    random = np.random.default_rng(0)
    vocabulary = Vocabulary.from_words(WORDS)
    splits = ["train"] * (pictures - 4) + ["val"] * 2 + ["test"] * 2
    captions = []
    for picture in range(pictures):
        for _ in range(2):
            words = tuple(random.choice(WORDS, size=int(random.integers(2, 7))).tolist())
            captions.append(Caption(picture, " ".join(words), words, splits[picture]))
    made = [Picture(str(i), "", split) for i, split in enumerate(splits)]
    pack = write_pack(folder / "pack", "tiny", "", made, captions, vocabulary, {})
    nouns = np.isin(pack.tokens, vocabulary.encode(["dog", "cat", "grass", "sand", "ball"]))
    pack.save_column("nouns", nouns, "token")
    pack.save_column("targets", random.standard_normal((len(captions), 6)).astype(np.float32), "caption")
    _write_features(pack, pictures, rows, random)
    store = FeatureStore(pack.feature_folder("grid"))
    inputs = ModelInputs(vocabulary, store.width, rows)
    return Context(Pack(pack.folder), inputs, Batches(pack, store, columns), store, torch.device("cpu"))


def _write_features(pack: Pack, pictures: int, rows: int, random: np.random.Generator) -> None:
    folder = pack.feature_folder("grid")
    folder.mkdir(parents=True)
    counts = random.integers(max(1, rows - 2), rows + 1, size=pictures)
    random.standard_normal((int(counts.sum()), WIDTH)).astype(np.float16).tofile(folder / "values.f16")
    save_array(folder / "offsets.npy", np.concatenate([[0], np.cumsum(counts)]))
    corners = random.random((int(counts.sum()), 2)).astype(np.float32) / 2
    save_array(folder / "boxes.npy", np.concatenate([corners, corners + 0.3], axis=1))
    write_json(folder / "features.json", {"kind": "regions", "width": WIDTH})
