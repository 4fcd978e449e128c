"""A limit on the pixels that all threads of a process decode at the same time."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator

MOST_PIXELS = 180_000_000
"""Pixels decoded at once. The largest image that Pillow opens has 179 million, 4 bytes each, twice while its mode is
converted: 1.4 GB."""


class PixelBudget:
    """Counts decoded pixels: images of at most `most` pixels together; a larger image is decoded alone."""

    def __init__(self, most: int = MOST_PIXELS) -> None:
        self.most = most
        self.used = 0
        self._free = threading.Condition()

    @contextlib.contextmanager
    def decoding(self, width: int, height: int) -> Iterator[None]:
        """Wait until an image fits, and count its pixels while the block runs."""
        pixels = width * height
        with self._free:
            self._free.wait_for(lambda: self.used == 0 or self.used + pixels <= self.most)
            self.used += pixels
        try:
            yield
        finally:
            with self._free:
                self.used -= pixels
                self._free.notify_all()


BUDGET = PixelBudget()
"""Of this process."""


def return_free_memory() -> None:
    """Give freed memory back to the system. glibc keeps it for each thread, so that every thread which ever decoded a
    large image would hold its size."""
    with contextlib.suppress(AttributeError, OSError):  # other systems give it back themselves
        ctypes.CDLL(None).malloc_trim(0)
