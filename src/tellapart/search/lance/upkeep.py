"""Tidying up after edits: every edit leaves small files and an old version, which are joined and deleted a while later.

The work happens in a separate thread, at most a tenth of the time, and only where somebody edits.
"""

from __future__ import annotations

import contextlib
import datetime
import threading
import time
from collections.abc import Callable

from tellapart.core.errors import Error

KEEP = datetime.timedelta(seconds=60)
"""Age of a version that nobody reads any more: readers look for a newer one every two seconds."""
DELAY = 65.0
"""Seconds from an edit to the tidying: its version is old enough then."""
SHARE = 10.0
"""The delay is at least this many times as long as the last tidying took."""


class Upkeep:
    """Calls `compact` with the age of versions to keep, a while after edits."""

    def __init__(self, compact: Callable[[datetime.timedelta], None]) -> None:
        self._compact, self._lock = compact, threading.Lock()
        self._timer: threading.Timer | None = None
        self._more, self._took = False, 0.0

    def note(self) -> None:
        """Something was edited."""
        with self._lock:
            if self._timer is None:
                self._start()
            else:
                self._more = True

    def _start(self) -> None:
        self._more = False
        self._timer = threading.Timer(max(DELAY, SHARE * self._took), self._run)
        self._timer.daemon = True
        self._timer.start()

    def _run(self) -> None:
        started = time.monotonic()
        with contextlib.suppress(Error, OSError):  # the next edit, or `index`, tries again
            self._compact(KEEP)
        with self._lock:
            self._took, self._timer = time.monotonic() - started, None
            if self._more:
                self._start()
