"""What an index stores of the file of a photo besides its vector: size, content, dimensions and date."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tellapart.images.formats import image_suffixes
from tellapart.images.orientation import upright_size

EXIF_BLOCK, TAKEN, CHANGED = 0x8769, 0x9003, 0x0132
"""EXIF tags: the block of camera settings, the date of the photo in it, and the date of the last change."""


@dataclass(frozen=True)
class FileFacts:
    """Facts of one file."""

    size: int
    modified: int
    """In nanoseconds."""
    content: str
    """Hash of the bytes: a moved or copied file keeps it."""
    width: int
    height: int
    """Of the upright photo, as a viewer shows it."""
    taken: datetime.datetime | None


def file_facts(path: Path) -> FileFacts:
    """Read the facts of a file; OSError if it cannot be read. A file that is not an image has width and height 0."""
    from PIL import Image

    image_suffixes()  # registers plugins
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        content = _hash(file)
    width = height = 0
    taken = None
    # A broken header is no error here: decoding reports it.
    with (
        contextlib.suppress(OSError, SyntaxError, ValueError, Image.DecompressionBombError),
        Image.open(path) as opened,
    ):
        width, height = upright_size(opened)
        if exif := opened.getexif():
            taken = exif_date(exif.get_ifd(EXIF_BLOCK).get(TAKEN) or exif.get(CHANGED))
    return FileFacts(status.st_size, status.st_mtime_ns, content, width, height, taken)


def content_of(path: Path) -> str:
    """The hash of the bytes of a file; OSError if it cannot be read."""
    with path.open("rb") as file:
        return _hash(file)


def exif_date(text: object) -> datetime.datetime | None:
    """A date as EXIF writes it; None for anything else.

    >>> exif_date("2019:07:21 18:04:33")
    datetime.datetime(2019, 7, 21, 18, 4, 33)
    >>> exif_date("0000:00:00 00:00:00"), exif_date(None)
    (None, None)
    """
    try:
        return datetime.datetime.strptime(str(text).strip("\0 ")[:19], "%Y:%m:%d %H:%M:%S")
    except ValueError:
        return None


def _hash(file: BinaryIO) -> str:
    return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()  # type: ignore[arg-type]
