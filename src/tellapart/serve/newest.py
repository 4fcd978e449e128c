"""The order of the photos of an index by date: 32 bytes per photo, computed again when the index has changed."""

from __future__ import annotations

import threading

import numpy as np

from tellapart.search.store import Store

COLUMNS = ("taken", "modified", "path", "content")


class NewestPhotos:
    """Ids of photos, newest first. Safe to use from several threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._version, self._ids = -1, np.zeros(0, "S32")
        self._lock = threading.Lock()

    def ids(self, count: int, offset: int = 0) -> list[str]:
        """The photos taken last; photos without a date follow by the date of their file. Copies count once."""
        with self._lock:  # one thread reads the table while the others wait
            version = self.store.version
            if self._version != version:
                self._ids, self._version = _ordered(self.store), version
            return [id_.decode() for id_ in self._ids[offset : offset + count].tolist()]


def _ordered(store: Store) -> np.ndarray:
    """Ids [N], newest first, each where its newest copy is."""
    import pyarrow as pa

    batches = [batch.select(list(COLUMNS)) for batch in store.batches(COLUMNS)]
    if not batches:
        return np.zeros(0, "S32")
    rows = pa.Table.from_batches(batches)
    newest_first = [(name, "descending") for name in COLUMNS[:3]]
    ordered = rows.sort_by(newest_first)["content"].to_numpy().astype("S32")  # a missing date comes last
    first = np.unique(ordered, return_index=True)[1]
    return np.asarray(ordered[np.sort(first)])
