"""Percentile intervals of bootstrap samples."""

import numpy as np


def percentile_interval(samples: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The bounds of the middle `level` of the samples [S].

    >>> percentile_interval(np.arange(101), level=0.5)
    (25.0, 75.0)
    """
    tail = 50 * (1 - level)
    low, high = np.percentile(samples, (tail, 100 - tail))
    return float(low), float(high)
