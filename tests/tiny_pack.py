"""A pack of a few dozen made-up images whose features tell their captions: enough to train anything for two steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tellapart.core.files import save_array, write_json
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Caption, PackImage
from tellapart.data.write_pack import write_pack
from tellapart.text.vocabulary import Vocabulary

COLOURS = ("red", "green", "blue", "white")
THINGS = ("dog", "cat", "ball", "tree", "car", "boat")
PATTERNS = ("a {} {}", "the {} {} stands here", "there is a {} {} in the image", "one {} {}", "we see a {} {} today")


def make_tiny_pack(folder: Path, width: int = 16, rows: int = 4) -> Pack:
    """24 images: 16 train, 4 val, 4 test; five captions each; `vector`, `grid` and `regions` features; noun masks."""
    images, captions, codes = [], [], []
    for index in range(24):
        colour, thing = COLOURS[index % 4], THINGS[index // 4]
        split = "train" if index % 6 < 4 else "val" if index % 6 == 4 else "test"
        images.append(PackImage(f"p{index}", f"p{index}.png", split, 64, 64))
        codes.append((index % 4, 4 + index // 4))
        for pattern in PATTERNS:
            text = pattern.format(colour, thing)
            captions.append(Caption(index, text, tuple(text.split()), split))
    words = sorted({word for caption in captions for word in caption.words})
    pack = write_pack(folder, "tiny", "", images, captions, Vocabulary.from_words(words), {"preset": "tiny"})
    nouns = [word in (*THINGS, "image", "today") for caption in captions for word in caption.words]
    pack.save_column("nouns", np.asarray(nouns), "token")
    random = np.random.default_rng(0)
    for name, count in (("vector", 1), ("grid", rows), ("regions", rows)):
        values = random.normal(0, 0.1, (24, count, width))
        for index, (colour_code, thing_code) in enumerate(codes):
            values[index, 0, colour_code] += 1
            values[index, -1, thing_code] += 1
        _write_features(pack.feature_folder(name), name, values, random)
    return pack


def _write_features(folder: Path, kind: str, values: np.ndarray, random: np.random.Generator) -> None:
    images, rows, width = values.shape
    folder.mkdir(parents=True)
    values.astype(np.float16).tofile(folder / "values.f16")
    save_array(folder / "offsets.npy", np.arange(images + 1) * rows)
    if kind != "vector":
        corners = np.sort(random.uniform(0, 1, (images * rows, 2, 2)), axis=1).reshape(-1, 4)
        save_array(folder / "boxes.npy", corners.astype(np.float32))
    write_json(folder / "features.json", {"kind": kind, "width": width})
