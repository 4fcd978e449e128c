"""Whole numbers in files of packs and features: read, and checked to lie in their range, so that damage has a name."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.files import load_array


def load_numbers(path: Path, least: int, below: int, advice: str, *, mapped: bool = False) -> np.ndarray:
    """A one-dimensional array of whole numbers from `least` to `below` - 1, or an InputError that names the file."""
    values = load_array(path, mapped=mapped)
    if values.ndim != 1 or not np.issubdtype(values.dtype, np.integer):
        raise InputError(f"{path} has {values.dtype} of shape {list(values.shape)} instead of whole numbers; {advice}.")
    if len(values) and (int(values.min()) < least or int(values.max()) >= below):
        raise InputError(f"{path} has a number that is not from {least} to {below - 1}; {advice}.")
    return values


def load_offsets(path: Path, advice: str) -> np.ndarray:
    """Where each part begins and the last one ends [n + 1]: from 0, never falling; or an InputError."""
    values = load_numbers(path, 0, 1 << 62, advice)
    if not len(values) or values[0] != 0 or (np.diff(values.astype(np.int64)) < 0).any():
        raise InputError(f"{path} does not begin with 0 or falls; {advice}.")
    return values
