"""Errors of LanceDB, which has no classes for them, as sentences about the index."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from tellapart.core.disk_errors import unwritable
from tellapart.core.errors import Error, InputError
from tellapart.core.explained import LONGEST

CONFLICT = ("commit conflict", "concurrent writers")


class UnwritableIndex(InputError):
    """An index on a disk that is full or read-only; it is as it was."""


def is_panic(error: BaseException) -> bool:
    """Whether Rust code panicked. Such errors derive from BaseException, and have no class that can be imported."""
    return type(error).__name__ in ("PanicException", "RustPanic")


@contextlib.contextmanager
def table_errors(where: str) -> Iterator[None]:
    """Raise an InputError for a table that cannot be read or written."""
    try:
        yield
    except (Error, FileExistsError, GeneratorExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        if code := unwritable(error):
            raise UnwritableIndex(
                f"The index {where} cannot be written ({os.strerror(code)}); it is as it was. Fix that and try again."
            ) from error
        if any(mark in str(error) for mark in CONFLICT):
            raise InputError(f"Others keep writing the index {where}; try again.") from error
        what = " ".join(str(error).split(", /")[0].split())[:LONGEST]
        raise InputError(
            f"The index {where} cannot be read ({what}); copy it again from where it is whole, or make it again."
        ) from error
