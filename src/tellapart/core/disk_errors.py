"""A full or read-only disk: libraries report it in their own ways, which become one error."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
"""Errors of a disk that is full or may not be written."""


def unwritable(error: BaseException) -> int:
    """The error number of a disk that cannot be written, also from the text of a library's own error; 0 for others.

    >>> unwritable(RuntimeError("LanceError(IO): No space left on device (os error 28)")) == errno.ENOSPC
    True
    >>> unwritable(OSError("4096 requested and 0 written")) == errno.ENOSPC
    True
    >>> unwritable(ValueError("broken"))
    0
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno if error.errno in UNWRITABLE else 0
    text = str(error)
    if isinstance(error, OSError) and "requested and" in text and "written" in text:  # numpy
        return errno.ENOSPC
    return next((code for code in UNWRITABLE if os.strerror(code) in text), 0)


@contextlib.contextmanager
def disk_errors(path: os.PathLike[str] | str) -> Iterator[None]:
    """Raise an OSError that names the path where a block cannot write it, whatever error a library raises."""
    try:
        yield
    except Exception as error:
        code = unwritable(error)
        if not code or (isinstance(error, OSError) and error.filename):
            raise
        raise OSError(code, os.strerror(code), os.fspath(path)) from error
