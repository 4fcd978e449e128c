"""The order of the photos of an index by date: 32 bytes per photo, computed again when the index has changed."""

from __future__ import annotations

import threading

import numpy as np

from tellapart.search.store import Store
from tellapart.serve.cache import LRUCache

COLUMNS = ("taken", "modified", "path", "content")
CACHED_ORDERS = 8
"""Of all photos, and with the filters used last."""


class NewestPhotos:
    """Ids of photos, newest first. Safe to use from several threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._orders: LRUCache[np.ndarray] = LRUCache(CACHED_ORDERS)
        self._lock = threading.Lock()

    def ids(self, count: int, offset: int = 0, condition: str = "") -> list[str]:
        """The photos taken last; photos without a date follow by the date of their file. Copies count once.

        condition: only photos that meet it.
        """
        with self._lock:  # one thread reads the table while the others wait
            key = self.store.version, condition
            ids = self._orders.get(key)
            if ids is None:
                ids = _ordered(self.store, condition)
                self._orders.put(key, ids)
        return [id_.decode() for id_ in ids[offset : offset + count].tolist()]


def _ordered(store: Store, condition: str) -> np.ndarray:
    """Ids [N], newest first, each where its newest copy is."""
    import pyarrow as pa

    batches = [batch.select(list(COLUMNS)) for batch in store.batches(COLUMNS, condition)]
    if not batches:
        return np.zeros(0, "S32")
    rows = pa.Table.from_batches(batches)
    newest_first = [(name, "descending") for name in COLUMNS[:3]]
    ordered = rows.sort_by(newest_first)["content"].to_numpy().astype("S32")  # a missing date comes last
    first = np.unique(ordered, return_index=True)[1]
    return np.asarray(ordered[np.sort(first)])
