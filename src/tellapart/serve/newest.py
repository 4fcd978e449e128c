"""The order of the photos of an index by date: 32 bytes per photo, computed again when the index has changed."""

from __future__ import annotations

import datetime
import threading

import numpy as np

from tellapart.core.lru_cache import LRUCache
from tellapart.search.filters import Filters
from tellapart.search.protocol import NO_FILTERS, Store

COLUMNS = ("taken", "modified", "path", "content")
CACHED_ORDERS = 8
"""Of all photos, and with the filters used last."""


class NewestPhotos:
    """Ids of photos, newest first. Safe to use from several threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._orders: LRUCache[np.ndarray] = LRUCache(CACHED_ORDERS)
        self._lock = threading.Lock()

    def ids(self, count: int, offset: int = 0, filters: Filters = NO_FILTERS) -> list[str]:
        """The photos taken last; photos without a date follow by the date of their file. Copies count once."""
        with self._lock:  # one thread reads the index while the others wait
            key = self.store.photos_version, filters
            ids = self._orders.get(key)
            if ids is None:
                ids = _ordered(self.store, filters)
                self._orders.put(key, ids)
        return [id_.decode() for id_ in ids[offset : offset + count].tolist()]


def _ordered(store: Store, filters: Filters) -> np.ndarray:
    """Ids [N], newest first, each where its newest copy is."""
    rows = (tuple(row[name] for name in COLUMNS) for row in store.rows(COLUMNS, filters))
    keys = sorted(((taken is not None, taken, modified, path, content) for taken, modified, path, content in rows),
                  key=lambda key: (key[0], key[1] or datetime.datetime.min, *key[2:]), reverse=True)  # fmt: skip
    return np.asarray(list(dict.fromkeys(key[-1] for key in keys)), "S32")
