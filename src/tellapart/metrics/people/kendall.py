"""Kendall's rank correlation with ties: tau-b and tau-c."""

import numpy as np


def _balance(first: np.ndarray, second: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """Concordant minus discordant pairs, and the counts of each value of `first` and of `second`.

    One of the two should have few distinct values, as ratings do: the cost is their number times that of the items.
    """
    _, rows, row_counts = np.unique(first, return_inverse=True, return_counts=True)
    _, columns, column_counts = np.unique(second, return_inverse=True, return_counts=True)
    if len(column_counts) > len(row_counts):
        rows, columns, row_counts, column_counts = columns, rows, column_counts, row_counts
    width = len(column_counts)
    table = np.bincount(rows * width + columns, minlength=len(row_counts) * width).reshape(-1, width)
    above = np.cumsum(table, axis=0) - table  # items with a smaller first value, by second value
    left = np.cumsum(above, axis=1) - above
    right = above.sum(1, keepdims=True) - left - above
    return int((table * (left - right)).sum()), row_counts, column_counts


def tau_c(first: np.ndarray, second: np.ndarray) -> float:
    """Stuart's tau-c, for a rating on a short scale against a score on a long one.

    >>> tau_c(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 0, 1, 1]))
    1.0
    """
    balance, rows, columns = _balance(first, second)
    classes = min(len(rows), len(columns))
    if classes < 2:
        return float("nan")
    return 2 * balance / (len(first) ** 2 * (classes - 1) / classes)


def tau_b(first: np.ndarray, second: np.ndarray) -> float:
    """Kendall's tau-b, corrected for ties on both sides.

    >>> round(tau_b(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 0, 1, 1])), 4)
    0.8165
    """
    balance, rows, columns = _balance(first, second)
    pairs = len(first) * (len(first) - 1) // 2
    tied = [int((counts * (counts - 1) // 2).sum()) for counts in (rows, columns)]
    denominator = float(pairs - tied[0]) * float(pairs - tied[1])
    return balance / denominator**0.5 if denominator > 0 else float("nan")
