"""Reliability of probabilities (DeGroot & Fienberg 1983): is a share p of what is given probability p true?

The expected calibration error is the mean distance of probability and truth over bins of equal width, weighted by their
counts (Naeini et al. 2015).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellapart.core.errors import InputError

BINS = 10


@dataclass(frozen=True)
class Bin:
    """The probabilities in [low, high), or [low, 1] for the last bin."""

    low: float
    high: float
    count: int
    confidence: float
    """Their mean; the middle of an empty bin."""
    true: float
    """The share that is true; NaN for an empty bin."""


@dataclass(frozen=True)
class AtThreshold:
    """What a threshold accepts."""

    count: int
    true: float
    """Share of the accepted that is true; NaN if none is accepted."""
    true_below: float
    """Share of the others that is true; NaN if there is none."""


def reliability(probabilities: Sequence[float], true: Sequence[bool], bins: int = BINS) -> list[Bin]:
    """Bins of equal width from 0 to 1.

    >>> [(one.count, one.confidence, one.true) for one in reliability([0.2, 0.4, 0.9], [False, True, True], 2)]
    [(2, 0.30000000000000004, 0.5), (1, 0.9, 1.0)]
    """
    p, labels = _checked(probabilities, true)
    place = np.minimum((p * bins).astype(int), bins - 1)
    found = []
    for number in range(bins):
        inside, low, high = place == number, number / bins, (number + 1) / bins
        count = int(inside.sum())
        mean, share = (float(p[inside].mean()), float(labels[inside].mean())) if count else ((low + high) / 2, np.nan)
        found.append(Bin(low, high, count, mean, share))
    return found


def calibration_error(bins: Sequence[Bin]) -> float:
    """The expected calibration error, 0 … 1.

    >>> round(calibration_error(reliability([0.2, 0.4, 0.9], [False, True, True], 2)), 3)
    0.167
    """
    total = sum(one.count for one in bins)
    return sum(one.count * abs(one.confidence - one.true) for one in bins if one.count) / total


def at_threshold(probabilities: Sequence[float], true: Sequence[bool], threshold: float) -> AtThreshold:
    """What `probability >= threshold` accepts.

    >>> at_threshold([0.2, 0.4, 0.9], [False, True, True], 0.5)
    AtThreshold(count=1, true=1.0, true_below=0.5)
    """
    p, labels = _checked(probabilities, true)
    over = p >= threshold
    shares = [float(labels[part].mean()) if part.any() else float("nan") for part in (over, ~over)]
    return AtThreshold(int(over.sum()), *shares)


def _checked(probabilities: Sequence[float], true: Sequence[bool]) -> tuple[np.ndarray, np.ndarray]:
    p, labels = np.asarray(probabilities, float), np.asarray(true, float)
    if p.shape != labels.shape or not len(p):
        raise InputError(
            f"Probabilities and truths must be equally many, at least one, not {len(p)} and {len(labels)}."
        )
    if not ((p >= 0) & (p <= 1)).all():
        raise InputError("Probabilities must lie between 0 and 1.")
    return p, labels
