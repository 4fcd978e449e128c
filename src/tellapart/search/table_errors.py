"""Errors of SQLite and LanceDB as sentences about the index. LanceDB has no classes for its errors."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator

from tellapart.core.disk_errors import unwritable
from tellapart.core.errors import Error, InputError
from tellapart.core.explained import LONGEST

CONFLICT = ("commit conflict", "concurrent writers", "database is locked", "database table is locked")
UNWRITABLE = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_PERM: errno.EACCES,
}
ON_WRITING = {sqlite3.SQLITE_IOERR: errno.EIO, sqlite3.SQLITE_CANTOPEN: errno.EIO}
"""Errors that mean the same where something was being written: SQLite does not say why."""


class UnwritableIndex(InputError):
    """An index on a disk that is full or read-only; it is as it was."""


def is_panic(error: BaseException) -> bool:
    """Whether Rust code panicked. Such errors derive from BaseException, and have no class that can be imported."""
    return type(error).__name__ in ("PanicException", "RustPanic")


@contextlib.contextmanager
def table_errors(where: str, writing: bool = False) -> Iterator[None]:
    """Raise an InputError for an index that cannot be read or written."""
    try:
        yield
    except (Error, FileExistsError, GeneratorExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        if any(mark in str(error) for mark in CONFLICT):
            raise InputError(f"Others keep writing the index {where}; try again.") from error
        if code := unwritable(error) or _sqlite_code(error, writing):
            raise UnwritableIndex(
                f"The index {where} cannot be written ({os.strerror(code)}); it is as it was. Fix that and try again."
            ) from error
        what = " ".join(str(error).split(", /")[0].split())[:LONGEST]
        raise InputError(
            f"The index {where} cannot be read ({what}); copy it again from where it is whole, or make it again."
        ) from error


def _sqlite_code(error: BaseException, writing: bool) -> int:
    """The error number that SQLite's error stands for; 0 if it is not about the disk."""
    if not isinstance(error, sqlite3.Error):
        return 0
    known = {**UNWRITABLE, **ON_WRITING} if writing else UNWRITABLE
    return known.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, 0)
