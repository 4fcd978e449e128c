"""What an index stores of the file of a photo besides its vector: size, content, dimensions and date."""

from __future__ import annotations

import contextlib
import datetime
import io
import os
from dataclasses import dataclass
from pathlib import Path

from tellapart.images.formats import image_suffixes
from tellapart.images.orientation import upright_size
from tellapart.images.verified_file import hash_of

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
    """Read the facts of a file; OSError if it cannot be read. A file that is not an image has width and height 0.

    The file is read once, so that all facts describe the same bytes. Its time is read first: a file that changes
    meanwhile has a later time at the next update.
    """
    from PIL import Image

    image_suffixes()  # registers plugins
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        data = file.read()
    width = height = 0
    taken = None
    # A broken header, for which a plugin may raise anything, is no error here: decoding reports it.
    with (
        contextlib.suppress(Exception),
        Image.open(io.BytesIO(data)) as opened,
    ):
        width, height = upright_size(opened)
        if exif := opened.getexif():
            taken = exif_date(exif.get_ifd(EXIF_BLOCK).get(TAKEN) or exif.get(CHANGED))
    return FileFacts(len(data), status.st_mtime_ns, hash_of(data), width, height, taken)


def content_of(path: Path) -> str:
    """The hash of the bytes of a file; OSError if it cannot be read."""
    return hash_of(path.read_bytes())


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
