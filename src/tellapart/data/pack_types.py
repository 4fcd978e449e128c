"""The rows of a pack: images, captions, phrases, detections, and columns computed for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

NO_IMAGE = -1
"""The image row of a sentence without an image."""


@dataclass(frozen=True)
class PackImage:
    """One image of a pack."""

    id: str
    file: str
    """Path relative to the pack's `root`, or absolute; empty if the pack has only features of it."""
    split: str
    """train, val, test, restval, or none."""
    width: int = 0
    height: int = 0


@dataclass(frozen=True)
class Caption:
    """One caption of a pack, or one sentence without an image."""

    image: int
    """Row of its image, or -1 for a sentence without an image."""
    text: str
    """As in the source; metrics compare with this."""
    words: tuple[str, ...]
    """After the text rules; models read these. Rare words are UNK only in `tokens`."""
    split: str


@dataclass(frozen=True)
class Phrase:
    """Words first … last - 1 of a caption name an entity that has boxes in the image."""

    caption: int
    first: int
    last: int
    boxes: tuple[tuple[float, float, float, float], ...]
    """x1 y1 x2 y2 as fractions of width and height; empty if the source has no box."""
    entity: str = ""
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Detections:
    """A detector's boxes for one image, best first."""

    image: int
    boxes: tuple[tuple[float, float, float, float], ...]
    scores: tuple[float, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Split:
    """Rows of the pack that belong to one split."""

    images: np.ndarray  # [I] int64
    captions: np.ndarray  # [C] int64


@dataclass(frozen=True)
class Column:
    """An array computed for captions or images. `per` says what a row stands for: caption, token or image."""

    values: np.ndarray
    per: str
    facts: dict[str, Any] = field(default_factory=dict)
