"""Quantiles of Student's t and of chi-squared, computed here: scipy is no dependency."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch

LEVEL = 0.95
"""Of every interval in the reports."""
POINTS = 20001


def t_quantile(freedom: float, level: float = LEVEL) -> float:
    """The t with `level` of Student's distribution between -t and t.

    >>> round(t_quantile(2), 3), round(t_quantile(4), 3)
    (4.303, 2.776)
    """
    return float(_central_t(freedom, np.asarray(level)))


@lru_cache(maxsize=64)
def t_sample(freedom: float, size: int) -> np.ndarray:
    """The quantiles of Student's distribution at (k + 1/2) / size: [size], rising and symmetric about zero.

    >>> [round(value, 3) for value in t_sample(2, 4).tolist()]
    [-1.604, -0.365, 0.365, 1.604]
    """
    probability = (np.arange(size) + 0.5) / size
    found: np.ndarray = np.sign(probability - 0.5) * _central_t(freedom, np.abs(2 * probability - 1))
    return found


def _central_t(freedom: float, level: np.ndarray) -> np.ndarray:
    """t for each level. With T = sqrt(n) tan(u), u has the density cos(u)^(n - 1) up to a factor, on a finite interval:
    it is integrated there."""
    angles = np.linspace(0, math.pi / 2, POINTS)
    heights = np.cos(angles) ** (freedom - 1) if freedom != 1 else np.ones_like(angles)
    heights[-1] = heights[-1] if freedom >= 1 else heights[-2]
    area = np.concatenate([[0.0], np.cumsum((heights[1:] + heights[:-1]) / 2)])
    found: np.ndarray = math.sqrt(freedom) * np.tan(np.interp(level, area / area[-1], angles))
    return found


def chi_square_quantile(freedom: int, probability: float) -> float:
    """Quantile of the chi-squared distribution, by bisection of the regularised incomplete gamma function.

    >>> round(chi_square_quantile(4, 0.975), 3)
    11.143
    """
    low, high = 0.0, 1000.0
    half = torch.tensor(freedom / 2, dtype=torch.float64)
    for _ in range(80):
        middle = (low + high) / 2
        below = torch.special.gammainc(half, torch.tensor(middle / 2, dtype=torch.float64)).item() < probability
        low, high = (middle, high) if below else (low, middle)
    return (low + high) / 2
