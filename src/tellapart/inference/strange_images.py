"""Images that show no scene: enlarged details, noise, tiles, waves, blobs and dots. Their captions are untrue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from PIL import Image, ImageFilter

SIDE = 224
DETAIL = (12, 32)
"""Sides of an enlarged detail, in pixels of a photo of SIDE pixels."""


def strange_images(photos: Sequence[Image.Image], drawn: int, seed: int = 0) -> Iterator[np.ndarray]:
    """An enlarged detail of each photo (every third in grey), then `drawn` drawn patterns: arrays [SIDE, SIDE, 3]."""
    random = np.random.default_rng(seed)
    for number, photo in enumerate(photos):
        small, side = photo.convert("RGB").resize((SIDE, SIDE)), int(random.integers(*DETAIL))
        left, top = random.integers(0, SIDE - side, 2).tolist()
        detail = small.crop((left, top, left + side, top + side)).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        yield np.asarray(detail.convert("L").convert("RGB") if number % 3 == 0 else detail)
    for number in range(drawn):
        yield np.clip(PATTERNS[number % len(PATTERNS)](random), 0, 255).astype(np.uint8)


def _noise(random: np.random.Generator) -> np.ndarray:
    return np.asarray(random.integers(0, 256, (SIDE, SIDE, 3)))


def _tiles(random: np.random.Generator) -> np.ndarray:
    count = int(random.integers(4, 29))
    tiles = random.integers(0, 256, (count, count, 3))
    return np.kron(tiles, np.ones((-(-SIDE // count),) * 2 + (1,)))[:SIDE, :SIDE]


def _waves(random: np.random.Generator) -> np.ndarray:
    down, across = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    one, other = random.uniform(2, 30, 2)
    wave = np.sin(2 * np.pi * (one * across + other * down))[..., None]
    return np.asarray(127 + 120 * wave * random.uniform(0.2, 1, 3))


def _blobs(random: np.random.Generator) -> np.ndarray:
    noise = Image.fromarray(random.integers(0, 256, (SIDE, SIDE)).astype(np.uint8))
    blurred = np.asarray(noise.filter(ImageFilter.GaussianBlur(float(random.uniform(2, 9)))), float)
    spread = (blurred - blurred.min()) / (np.ptp(blurred) + 1e-9) * 255
    return np.stack([spread if random.random() < 0.5 else (spread > 127) * 255.0] * 3, -1)


def _dots(random: np.random.Generator) -> np.ndarray:
    down, across = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    drawing = np.full((SIDE, SIDE, 3), random.integers(0, 256, 3), float)
    for _ in range(int(random.integers(1, 30))):
        (x, y), radius = random.uniform(0, 1, 2), random.uniform(0.01, 0.15)
        drawing[(across - x) ** 2 + (down - y) ** 2 < radius**2] = random.integers(0, 256, 3)
    return drawing


PATTERNS = (_noise, _tiles, _waves, _blobs, _dots)
