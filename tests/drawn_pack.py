"""A small pack with pictures of coloured noise drawn on the spot, for tests that look at pixels."""

from pathlib import Path

import numpy as np
from PIL import Image

from tellapart.data.pack import Caption, Detections, Pack, Picture, write_pack
from tellapart.text.vocabulary import Vocabulary


def drawn_pack(folder: Path, pictures: int = 6, detections: bool = False) -> Pack:
    """Pictures 000.png, 001.png, … of differing shapes under `folder`/pictures; the pack is `folder`/pack."""
    (folder / "pictures").mkdir(parents=True)
    for row in range(pictures):
        generator = np.random.default_rng(row)
        coarse = generator.integers(0, 256, (4, 5, 3), dtype=np.uint8)
        picture = Image.fromarray(coarse).resize((64 + row % 3 * 16, 48 + row % 2 * 32), Image.Resampling.BICUBIC)
        picture.save(folder / "pictures" / f"{row:03d}.png")
    found = [
        Detections(row, ((0.1, 0.1, 0.6, 0.7), (0.5, 0.2, 0.9, 1.0)), (0.4, 0.8), ("cat", "dog"))
        for row in range(0, pictures, 2)
    ]
    return write_pack(
        folder / "pack",
        "drawn",
        "../pictures",
        [Picture(f"{row:03d}", f"{row:03d}.png", "train") for row in range(pictures)],
        [Caption(row, "a picture", ("a", "picture"), "train") for row in range(pictures)],
        Vocabulary.from_words(["a", "picture"]),
        {},
        detections=found if detections else (),
    )
