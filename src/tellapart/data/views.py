"""How images are looked at: as they are, or, in training, mirrored and cut at random, as pixels or as features.

What is random comes from the batch's own seed and the image's row alone. So a resumed run sees what the whole one
would have seen, and two processes see what one would have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.data.pack import Pack

RATIO = 4 / 3
"""A random part is at most this much wider than high, or higher than wide, beside the whole image's own shape."""


@dataclass(frozen=True)
class Views:
    """Which liberties a stage takes with its images."""

    pixels: int = 0
    """Side of the square of pixels that batches bring; 0: none."""
    cut: float = 1.0
    """Least share of the image's area in a random part of it; 1: no cutting."""
    flip: bool = False
    """Half of the images are mirrored."""

    @property
    def random(self) -> bool:
        return self.flip or (self.pixels > 0 and self.cut < 1)


AS_THEY_ARE = Views()


@dataclass(frozen=True)
class View:
    """One image seen once."""

    mirrored: bool = False
    part: tuple[float, float, float, float] | None = None
    """x1 y1 x2 y2 in fractions of the image; None is the middle, as evaluation sees it."""


def sample_views(views: Views, rows: np.ndarray, seed: Sequence[int] | None) -> list[View]:
    """How each image is seen in the batch with this seed; None: as it is."""
    if seed is None or not views.random:
        return [View()] * len(rows)
    return [_view(views, np.random.default_rng([*seed, int(row)])) for row in rows]


def _view(views: Views, random: np.random.Generator) -> View:
    mirrored = bool(views.flip and random.random() < 0.5)
    if views.cut >= 1:
        return View(mirrored)
    area, ratio = random.uniform(views.cut, 1), math.exp(random.uniform(-math.log(RATIO), math.log(RATIO)))
    width, height = min(1.0, math.sqrt(area * ratio)), min(1.0, math.sqrt(area / ratio))
    left, top = random.uniform(0, 1 - width), random.uniform(0, 1 - height)
    return View(mirrored, (left, top, left + width, top + height))


class PixelReader:
    """Opens images of a pack as uint8 squares, several at a time."""

    def __init__(self, pack: Pack, views: Views) -> None:
        if pack.images and not any(image.file for image in pack.images):
            raise InputError(f"{pack.folder} has features but no image files, and this recipe reads pixels.")
        self.pack, self.views = pack, views
        self.pool = ThreadPoolExecutor(thread_name_prefix="pixels")

    def read(self, rows: np.ndarray, seen: Sequence[View]) -> Tensor:  # [I, 3, S, S] uint8
        side = self.views.pixels
        if not len(rows):
            return torch.zeros(0, 3, side, side, dtype=torch.uint8)
        return torch.stack(list(self.pool.map(self._one, rows.tolist(), seen)))

    def _one(self, row: int, view: View) -> Tensor:
        # Pillow is wanted only here: stages that read features train without it.
        from tellapart.images.decoding import read_middle, read_part

        path, side = self.pack.image_path(row), self.views.pixels
        square = read_middle(path, side) if view.part is None else read_part(path, side, view.part)
        return square.flip(2) if view.mirrored else square
