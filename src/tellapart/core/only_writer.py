"""One process at a time writes a folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from tellapart.core.errors import InputError


@contextlib.contextmanager
def only_writer(folder: Path, doing: str) -> Iterator[None]:
    """Raise an InputError if another process is in such a block for the same folder, which is made if necessary.

    The folder itself is locked, so that no file is left in it. The system unlocks it when a process ends.
    """
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    guard = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"Another process is {doing} {folder}; wait for it, or choose another folder.") from error
        except OSError:  # some network file systems cannot lock folders
            pass
        yield
    finally:
        os.close(guard)
