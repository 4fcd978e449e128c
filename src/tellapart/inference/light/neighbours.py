"""The images most similar to an image, by vectors in memory."""

from __future__ import annotations

import numpy as np

from tellapart.core.errors import InputError
from tellapart.inference.word_evidence import unit

SAME_WITHIN = 1e-3
"""Copies of one photo differ by the rounding of their features; two shots of one scene by far more."""
NO_OTHERS = "A distinctive caption needs at least one other image to compare with; give more images."


def nearest_vectors(own: np.ndarray, among: np.ndarray, count: int, same_within: float = SAME_WITHIN) -> np.ndarray:
    """The `count` rows of `among` [A, E] most similar to each vector [I, E], most similar first: [I, count].

    A vector of `among` that, at length one, lies within `same_within` is the image itself or a copy, and is left out.
    Fewer rows are returned if some image has fewer neighbours.

    >>> nearest_vectors(np.eye(2)[:1], np.asarray([[2.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), 5).tolist()
    [[1, 2]]
    """
    if not len(among):
        raise InputError(NO_OTHERS)
    ours, theirs = unit(own.astype(np.float32)), unit(among.astype(np.float32))
    similarity = ours @ theirs.T  # [I, A]
    # |a - b|^2 = 2 - 2 cos cancels near 0, so that only the nearest are compared number by number.
    close = similarity > 1 - 10 * same_within
    same = np.zeros_like(close)
    for row, column in zip(*close.nonzero()):
        same[row, column] = float(np.linalg.norm(ours[row] - theirs[column])) < same_within
    order = np.argsort(np.where(same, np.inf, -similarity), 1, kind="stable")
    return order[:, : min(count, int((~same).sum(1).min()))]
