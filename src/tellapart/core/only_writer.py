"""One process at a time writes a folder."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.core.file_lock import lock


@contextlib.contextmanager
def only_writer(folder: Path, doing: str) -> Iterator[None]:
    """Raise an InputError if another process is in such a block for the same folder, which is made if necessary.

    The system unlocks the folder when a process ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    problem = f"Another process is {doing} {folder}; wait for it, or choose another folder."
    with _locked_next_to(folder, problem) if sys.platform == "win32" else _locked(folder, problem):
        yield


@contextlib.contextmanager
def _locked(folder: Path, problem: str) -> Iterator[None]:
    """The folder itself is locked, so that no file is left in it."""
    unix = importlib.import_module("fcntl")
    guard = os.open(folder, os.O_RDONLY)
    try:
        try:
            unix.flock(guard, unix.LOCK_EX | unix.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(problem) from error
        except OSError:  # some network file systems cannot lock folders
            pass
        yield
    finally:
        os.close(guard)


@contextlib.contextmanager
def _locked_next_to(folder: Path, problem: str) -> Iterator[None]:
    """Windows cannot lock folders: a file next to it is locked, and stays."""
    full = folder.absolute()
    with full.with_name(f".{full.name}.lock").open("w") as guard:
        try:
            lock(guard)
        except OSError as error:
            raise InputError(problem) from error
        yield
