"""Vectors of photos and texts for an index, and captions if there is a captioner; whatever computes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tellapart.images.verified_file import VerifiedFile

BATCH = 64


@dataclass(frozen=True)
class Embedded:
    """Vectors of some photos; an unreadable photo has a fault instead."""

    places: list[int]  # [N] positions in the given list
    vectors: np.ndarray  # [N, E] float32 of length one
    captions: list[str] | None
    faults: dict[int, str]
    confidence: list[float] | None = None
    """Probability that each caption is true; None for models that it was not calibrated for."""
    sure: list[bool] | None = None
    """Whether the confidence reaches its threshold."""


@dataclass(frozen=True)
class Seen:
    """What the models see of some photos that are described together; an unreadable photo has a fault instead."""

    places: list[int]  # [N] positions in the given list
    vectors: np.ndarray  # [N, E] float32 of length one
    images: Any  # [N, R, D] features for the captioner
    faults: dict[int, str]


class Embeds(Protocol):
    """What fills an index."""

    fingerprint: str
    """Equal for equal weights: vectors with different fingerprints cannot be compared."""
    width: int

    def embed_photos(self, photos: Iterable[VerifiedFile]) -> Iterator[Embedded]:
        """Vectors of photos, batch by batch and in order."""
        ...

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of texts [C, E]."""
        ...
