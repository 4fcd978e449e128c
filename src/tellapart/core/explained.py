"""Errors of libraries that read a file, as one sentence that names the file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tellapart.core.errors import Error, InputError

LONGEST = 200
"""Characters of a library's message that are shown."""


@contextlib.contextmanager
def explained(what: Path | str, advice: str) -> Iterator[None]:
    """Raise an InputError for whatever goes wrong in a block that only reads one file or folder.

    A damaged file makes readers raise almost anything: KeyError, struct.error, UnicodeDecodeError, RuntimeError. The
    block must do nothing but read, so that its errors are about the file.
    """
    try:
        yield
    except (Error, FileNotFoundError):
        raise
    except Exception as error:
        raise InputError(f"{what} cannot be used ({reason(error)}); {advice}.") from error


def reason(error: BaseException) -> str:
    """The message of an error in one line.

    >>> reason(KeyError("features"))
    "KeyError: 'features'"
    >>> reason(ValueError("broken"))
    'broken'
    """
    text = " ".join(str(getattr(error, "strerror", None) or error).split())[:LONGEST]
    plain = isinstance(error, OSError | ValueError | RuntimeError) and text
    return text if plain else f"{type(error).__name__}: {text}".rstrip(": ")
