"""A cache of bounded size that drops what was used least recently."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class LRUCache(Generic[Value]):
    """Values by key, up to a total size. Safe to use from several threads."""

    def __init__(self, max_size: int) -> None:
        self.max_size, self.size = max_size, 0
        self._entries: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Value | None:
        """The value of a key, or None."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def put(self, key: Hashable, value: Value, size: int = 1) -> None:
        """Store a value, and drop the least recently used ones beyond the maximum size."""
        with self._lock:
            self.size += size - self._entries.pop(key, (value, 0))[1]
            self._entries[key] = (value, size)
            while self.size > self.max_size and self._entries:
                self.size -= self._entries.popitem(last=False)[1][1]
