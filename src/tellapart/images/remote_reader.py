"""A file at an address, read piece by piece; whatever its client raises is an OSError."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

PIECE = 1024 * 1024
"""Bytes that are asked for at once."""


@contextmanager
def as_os_errors() -> Iterator[None]:
    """Clients of object storage have exceptions of all kinds: for a key that is missing, a server that is gone."""
    try:
        yield
    except (OSError, MemoryError):
        raise
    except Exception as error:
        raise OSError(str(error)) from error


def buffered(file: BinaryIO) -> BinaryIO:
    """A file as `fsspec` opens it, whose errors are OSErrors."""
    return io.BufferedReader(_Reader(file), PIECE)


class _Reader(io.RawIOBase):
    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file.seekable()

    def readinto(self, buffer: Any) -> int:
        with as_os_errors():
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with as_os_errors():
            return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        super().close()
