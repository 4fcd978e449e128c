"""A small pack with images of coloured noise drawn on the spot, for tests that read pixels."""

from pathlib import Path

import numpy as np
from PIL import Image

from tellapart.data.pack import Pack
from tellapart.data.pack_types import Caption, Detections, PackImage
from tellapart.data.write_pack import write_pack
from tellapart.text.vocabulary import Vocabulary


def drawn_pack(folder: Path, images: int = 6, detections: bool = False) -> Pack:
    """Images 000.png, 001.png, … of differing shapes under `folder`/images; the pack is `folder`/pack."""
    (folder / "images").mkdir(parents=True)
    for row in range(images):
        generator = np.random.default_rng(row)
        coarse = generator.integers(0, 256, (4, 5, 3), dtype=np.uint8)
        image = Image.fromarray(coarse).resize((64 + row % 3 * 16, 48 + row % 2 * 32), Image.Resampling.BICUBIC)
        image.save(folder / "images" / f"{row:03d}.png")
    found = [
        Detections(row, ((0.1, 0.1, 0.6, 0.7), (0.5, 0.2, 0.9, 1.0)), (0.4, 0.8), ("cat", "dog"))
        for row in range(0, images, 2)
    ]
    return write_pack(
        folder / "pack",
        "drawn",
        "../images",
        [PackImage(f"{row:03d}", f"{row:03d}.png", "train") for row in range(images)],
        [Caption(row, "an image", ("an", "image"), "train") for row in range(images)],
        Vocabulary.from_words(["an", "image"]),
        {},
        detections=found if detections else (),
    )
