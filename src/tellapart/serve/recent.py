"""What was used last is kept at hand, up to a weight."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """A dict that forgets what was not asked for in the longest time. Safe to use from several threads."""

    def __init__(self, most: int) -> None:
        self.most, self.weight = most, 0
        self._kept: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Value | None:
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def put(self, key: Hashable, value: Value, weight: int = 1) -> None:
        with self._lock:
            self.weight += weight - self._kept.pop(key, (value, 0))[1]
            self._kept[key] = (value, weight)
            while self.weight > self.most and self._kept:
                self.weight -= self._kept.popitem(last=False)[1][1]
