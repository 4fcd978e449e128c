"""Views of images: unchanged, or mirrored and cropped at random in training, as pixels or as features.

Randomness depends only on the seed of the batch and the row of the image. So a resumed run, or a run in two processes,
uses the same views as an uninterrupted run in one process.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.data.pack import Pack

RATIO = 4 / 3
"""Largest ratio of width to height, or height to width, of a random crop relative to the whole image."""


@dataclass(frozen=True)
class Views:
    """How a stage shows its images."""

    pixels: int = 0
    """Side in pixels of the square images in batches; 0: no pixels."""
    cut: float = 1.0
    """Smallest share of the image's area in a random crop; 1: no crops."""
    flip: bool = False
    """Mirror half of the images."""
    squash: bool = False
    """Whole images squashed to squares, from the pack's stored pixels where it has them, cropped and mirrored on the
    device. False: the middle of the image files, read again for each batch."""
    swap: bool = False
    """In captions of mirrored images, "left" and "right" change places."""

    @property
    def random(self) -> bool:
        """Whether views differ from batch to batch."""
        return self.flip or (self.pixels > 0 and self.cut < 1)


UNCHANGED = Views()


@dataclass(frozen=True)
class View:
    """How one image is shown in one batch."""

    mirrored: bool = False
    part: tuple[float, float, float, float] | None = None
    """x1 y1 x2 y2 in fractions of the image; None is the centre, as in evaluation."""


def sample_views(views: Views, rows: np.ndarray, seed: Sequence[int] | None) -> list[View]:
    """The view of each image in the batch with this seed; None: unchanged."""
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


def uniform_numbers(seed: Sequence[int], rows: np.ndarray, count: int) -> np.ndarray:
    """Numbers in [0, 1) [n, count] that depend on the seed and the row alone (SplitMix64, Steele et al. 2014).

    One generator per image would take longer than a GPU's whole step.
    """
    state = np.uint64(0)
    with np.errstate(over="ignore"):
        for part in seed:
            state = _mixed(state * np.uint64(31) + np.uint64(part))
        keys = _mixed(rows.astype(np.uint64) + state)[:, None] + np.arange(1, count + 1, dtype=np.uint64) * GOLDEN
        return np.asarray((_mixed(keys) >> np.uint64(11)).astype(np.float64) / 2**53)


GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mixed(values: Any) -> Any:
    values = values + GOLDEN
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


class PixelReader:
    """Reads images of a pack as uint8 squares, in parallel."""

    def __init__(self, pack: Pack, views: Views) -> None:
        if pack.images and not any(image.file for image in pack.images):
            raise InputError(f"{pack.folder} has no image files, only features, but this recipe reads pixels.")
        self.pack, self.views = pack, views
        self.pool = ThreadPoolExecutor(thread_name_prefix="pixels")

    def read(self, rows: np.ndarray, seen: Sequence[View]) -> Tensor:
        """Pixels [I, 3, S, S] uint8 of the images at these rows."""
        side = self.views.pixels
        if not len(rows):
            return torch.zeros(0, 3, side, side, dtype=torch.uint8)
        return torch.stack(list(self.pool.map(self._one, rows.tolist(), seen)))

    def _one(self, row: int, view: View) -> Tensor:
        # Imported here so that stages that read features train without Pillow.
        from tellapart.images.decoding import read_middle, read_part

        path, side = self.pack.image_path(row), self.views.pixels
        square = read_middle(path, side) if view.part is None else read_part(path, side, view.part)
        return square.flip(2) if view.mirrored else square
