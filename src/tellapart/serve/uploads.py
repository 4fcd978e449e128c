"""Photos that strangers send: checked by their header before a pixel is decoded, and then decoded under watch."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tellapart.data.upright import upright
from tellapart.errors import InputError
from tellapart.photos import photo_suffixes

if TYPE_CHECKING:
    from PIL import Image

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "HEIF")
"""Plain pictures. Pillow opens more: PostScript, which runs a program, and formats that only name other files."""
SLIMMEST = 50
"""Times as long as wide: a picture of one row, its short side brought to a network's size, would fill the memory."""


class RefusedUpload(InputError):
    """A file that is no picture, or none that is safe to open."""


class LargeUpload(RefusedUpload):
    """A picture with more pixels than are allowed."""


@dataclass(frozen=True)
class Upload:
    """A photo that was sent, as a file the backbone can be shown, and upright in RGB."""

    file: Path
    picture: Image.Image
    width: int
    height: int


def keep_upload(data: bytes, pixels: int, folder: Path) -> Upload:
    """Decode a photo of at most so many pixels and put it into a folder under a name of our own.

    A JPEG is kept as it came, for the backbone decodes it at a smaller scale as it did when indexing; Pillow takes
    nothing else for a JPEG. Any other is written anew, so that no second decoder sees the stranger's bytes.
    """
    from PIL import Image

    try:
        with _opened(data) as opened:
            _refuse_measures(*opened.size, pixels)
            kind, picture = opened.format, upright(opened).copy()
    except RefusedUpload:
        raise
    except Image.DecompressionBombError as error:
        raise LargeUpload(f"The picture is larger than {pixels / 1e6:g} megapixels; send a smaller one.") from error
    # Whatever a decoder stumbles over in a stranger's bytes, they are no picture: an OSError most often, but also
    # struct.error, IndexError, KeyError, ZeroDivisionError, …
    except Exception as error:
        raise RefusedUpload("This is no whole picture of a kind that can be opened here.") from error
    if kind == "JPEG":
        file = folder / "photo.jpg"
        file.write_bytes(data)
    else:
        file = folder / "photo.bmp"
        picture.save(file, "BMP")
    return Upload(file, picture, picture.width, picture.height)


def _opened(data: bytes) -> Image.Image:
    from PIL import Image

    photo_suffixes()  # registers plugins
    return Image.open(io.BytesIO(data), formats=[name for name in FORMATS if name in Image.OPEN])


def _refuse_measures(width: int, height: int, pixels: int) -> None:
    if width * height > pixels:
        there, allowed = width * height / 1e6, pixels / 1e6
        raise LargeUpload(f"The picture has {there:.1f} megapixels and {allowed:g} are allowed; send a smaller one.")
    if min(width, height) < 1 or max(width, height) > SLIMMEST * min(width, height):
        raise RefusedUpload(f"A picture of {width} x {height} is too slim to be looked at.")
