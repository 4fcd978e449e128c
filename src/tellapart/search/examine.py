"""What an index keeps of a photo's file besides its vector: size, content, measures and the day it was taken."""

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


@dataclass(frozen=True)
class FileFacts:
    size: int
    modified: int
    """In nanoseconds."""
    content: str
    """Hash of the bytes: a file that was moved or copied keeps it."""
    width: int
    height: int
    """As a viewer shows the photo, turned upright."""
    taken: datetime.datetime | None


def examine(path: Path) -> FileFacts:
    """Read one file's facts; OSError where it cannot be read. A file that is no image has no measures."""
    from PIL import Image

    image_suffixes()  # registers plugins
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        content = _content(file)
    width = height = 0
    taken = None
    # What a broken file's header is worth is said by whoever decodes it.
    with (
        contextlib.suppress(OSError, SyntaxError, ValueError, Image.DecompressionBombError),
        Image.open(path) as opened,
    ):
        width, height = upright_size(opened)
        if exif := opened.getexif():
            taken = moment(exif.get_ifd(EXIF_BLOCK).get(TAKEN) or exif.get(CHANGED))
    return FileFacts(status.st_size, status.st_mtime_ns, content, width, height, taken)


def content_of(path: Path) -> str:
    """The hash of a file's bytes; OSError if it cannot be read."""
    with path.open("rb") as file:
        return _content(file)


def _content(file: BinaryIO) -> str:
    return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()  # type: ignore[arg-type]


def moment(text: object) -> datetime.datetime | None:
    """EXIF's way to write a date; None for what is none.

    >>> moment("2019:07:21 18:04:33")
    datetime.datetime(2019, 7, 21, 18, 4, 33)
    >>> moment("0000:00:00 00:00:00"), moment(None)
    (None, None)
    """
    try:
        return datetime.datetime.strptime(str(text).strip("\0 ")[:19], "%Y:%m:%d %H:%M:%S")
    except ValueError:
        return None
