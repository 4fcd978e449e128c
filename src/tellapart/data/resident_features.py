"""Features kept on a device: copied once for all stages and runs of a process that read them."""

from __future__ import annotations

import torch
from torch import Tensor

from tellapart.data.feature_store import FeatureStore

KEPT = 2
"""Features kept at most: a pack's and those of its mirror images."""
ROWS_AT_ONCE = 2**16
"""Rows copied at once, so that the host never holds a second copy of all features."""

_kept: dict[tuple[str, int, str], Tensor] = {}


def resident_features(store: FeatureStore, device: torch.device) -> Tensor:
    """All rows of these features [rows, width] on the device. Features that were asked for earlier make room."""
    changed = (store.folder / "features.json").stat().st_mtime_ns
    key = (str(store.folder.resolve()), changed, str(device))
    table = _kept.pop(key, None)
    while len(_kept) >= KEPT:
        del _kept[next(iter(_kept))]  # before the new ones take their memory
    _kept[key] = _copied(store, device) if table is None else table  # the latest comes last
    return _kept[key]


def _copied(store: FeatureStore, device: torch.device) -> Tensor:
    rows = store.values
    table = torch.empty(rows.shape, dtype=torch.float16, device=device)
    for first in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[first : first + ROWS_AT_ONCE]
        table[first : first + len(part)].copy_(torch.from_numpy(part.copy()))
    return table
