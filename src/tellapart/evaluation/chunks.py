"""Rows of a pack in parts that are encoded or decoded at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

CHUNK = 256


def chunks(rows: np.ndarray, size: int = CHUNK) -> Iterator[np.ndarray]:
    """The rows in parts of at most `size`."""
    for first in range(0, len(rows), size):
        yield rows[first : first + size]
