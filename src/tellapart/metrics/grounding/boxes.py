"""Overlap of boxes, with the +1 of pixel boxes: a box from pixel 3 to pixel 3 is one pixel wide.

Published grounding metrics use this definition, in the pixels of Flickr's images, whose long side is 500. Boxes here
are fractions, so they are scaled to that size first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

LONG_SIDE = 500.0


def pixel_size(width: np.ndarray, height: np.ndarray, long_side: float = LONG_SIDE) -> np.ndarray:
    """Width, height, width, height [N, 4] of images scaled to the long side; images of unknown size are square.

    >>> pixel_size(np.array([208, 0]), np.array([104, 0])).tolist()
    [[500.0, 250.0, 500.0, 250.0], [500.0, 500.0, 500.0, 500.0]]
    """
    size = np.stack([width, height], -1).astype(np.float64)
    size = np.where(size > 0, size, 1.0)
    size = size * (long_side / size.max(-1, keepdims=True))
    return np.concatenate([size, size], -1)


class Sized(Protocol):
    """An image with a size in pixels."""

    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...


def image_sizes(images: Sequence[Sized]) -> np.ndarray:
    """`pixel_size` of each image [I, 4]."""
    return pixel_size(np.asarray([image.width for image in images]), np.asarray([image.height for image in images]))


def overlap(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Intersection over union of pixel boxes [..., 4] with [..., 4], with broadcasting.

    >>> float(overlap(np.array([0, 0, 9, 9]), np.array([0, 0, 9, 4])))
    0.5
    """
    corner = np.minimum(first[..., 2:], second[..., 2:]) - np.maximum(first[..., :2], second[..., :2]) + 1
    shared = corner.clip(min=0).prod(-1)
    result: np.ndarray = shared / (_area(first) + _area(second) - shared)
    return result


def best_overlap(box: np.ndarray, truths: np.ndarray, mask: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The best overlap [N] of each box [N, 4] with any of its true boxes [N, K, 4]; all fractions of `size`."""
    found = overlap((box * size)[:, None], truths * size[:, None])  # [N, K]
    result: np.ndarray = np.where(mask, found, 0.0).max(-1, initial=0.0)
    return result


def _area(box: np.ndarray) -> np.ndarray:
    result: np.ndarray = (box[..., 2] - box[..., 0] + 1) * (box[..., 3] - box[..., 1] + 1)
    return result
