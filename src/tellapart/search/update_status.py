"""How far the update of an index is, and when the last one ended: a small file in the folder of the index.

The process that updates writes it, any other reads it. An index on object storage has none.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tellapart.core.errors import Error
from tellapart.core.files import write_text

FILE = ".update.json"
WRITE_EVERY = 1.0
"""Seconds."""
STALE_AFTER = 60.0
"""Seconds without a sign of life, after which the writer counts as killed."""


@dataclass(frozen=True)
class UpdateStatus:
    """An update that is running, or the last one that ended."""

    running: bool = False
    done: int = 0
    """Photos that are in the index or were skipped."""
    total: int | None = None
    """Photos in the folders; None if they were not counted."""
    skipped: int = 0
    """Files that the last complete update could not read."""
    ended: float | None = None
    """When the last complete update ended, in seconds since 1970."""
    written: float = 0.0
    """When this was written."""

    @property
    def ended_at(self) -> datetime.datetime | None:
        """When the last complete update ended, in UTC."""
        return None if self.ended is None else datetime.datetime.fromtimestamp(self.ended, datetime.UTC)


def read_status(where: str) -> UpdateStatus | None:
    """The status of an index; None if no update has written any."""
    file = _file(where)
    if file is None:
        return None
    try:
        status = UpdateStatus(**json.loads(file.read_text(encoding="utf-8")))
        stale = status.running and time.time() - status.written > STALE_AFTER
    except (OSError, ValueError, TypeError):  # none yet, or of another version
        return None
    return replace(status, running=False) if stale else status


def announce(where: str) -> None:
    """Note that an update is about to begin: its process loads models first."""
    StatusWriter(where, None).write()


def withdraw(where: str) -> None:
    """Note that an update was ended before it was complete."""
    writer = StatusWriter(where, None)
    writer.stop()
    writer.keep_writing()


class StatusWriter:
    """Counts the photos of an update and writes the status about once per second, also while nothing advances."""

    def __init__(self, where: str, total: int | None) -> None:
        before = read_status(where) or UpdateStatus()
        self._file, self._stop, self._lock = _file(where), threading.Event(), threading.Lock()
        self._status = replace(before, running=True, done=0, total=total)

    def advance(self, photos: int) -> None:
        """Count photos; callable from any thread."""
        with self._lock:
            self._status = replace(self._status, done=self._status.done + photos)

    def end(self, skipped: int) -> None:
        """Note that the update is complete."""
        self._status = replace(self._status, skipped=skipped, ended=time.time())

    def keep_writing(self) -> None:
        """Write until `stop` is called."""
        self.write()
        while not self._stop.wait(WRITE_EVERY):
            self.write()
        self._status = replace(self._status, running=False)
        self.write()

    def stop(self) -> None:
        """Stop writing: the update is not running any more."""
        self._stop.set()

    def write(self) -> None:
        """Write the status once."""
        if self._file is not None:
            with contextlib.suppress(OSError, Error):  # a status that cannot be written is no reason to stop
                write_text(self._file, json.dumps(asdict(replace(self._status, written=time.time()))))


@contextlib.contextmanager
def reported(where: str, total: int | None) -> Iterator[StatusWriter]:
    """Write the status of an update until the block ends."""
    status = StatusWriter(where, total)
    thread = threading.Thread(target=status.keep_writing, name="update status", daemon=True)
    thread.start()
    try:
        yield status
    finally:
        status.stop()
        thread.join()


def _file(where: str) -> Path | None:
    return None if "://" in where else Path(where) / FILE
