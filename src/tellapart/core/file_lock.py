"""A lock that one process holds on a file: `flock` on Linux and macOS, `msvcrt` on Windows."""

from __future__ import annotations

import importlib
import sys
from typing import IO


def lock(file: IO[str], *, wait: bool = False) -> None:
    """Lock an open file until it is closed; OSError at once if another process holds it, unless `wait` is set."""
    if sys.platform == "win32":
        windows = importlib.import_module("msvcrt")
        file.seek(0)
        windows.locking(file.fileno(), windows.LK_LOCK if wait else windows.LK_NBLCK, 1)
        return
    unix = importlib.import_module("fcntl")
    unix.flock(file, unix.LOCK_EX | (0 if wait else unix.LOCK_NB))
