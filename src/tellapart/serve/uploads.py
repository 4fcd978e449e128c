"""Photos that strangers send: checked by their header before a pixel is decoded, and then decoded under watch."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tellapart.core.errors import InputError
from tellapart.images.formats import image_suffixes
from tellapart.images.orientation import upright

if TYPE_CHECKING:
    from PIL import Image

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "HEIF")
"""Plain images. Pillow opens more: PostScript, which runs a program, and formats that only name other files."""
SLIMMEST = 50
"""Times as long as wide: an image of one row, its short side brought to a network's size, would fill the memory."""


class RejectedUpload(InputError):
    """A file that is no image, or none that is safe to open."""


class LargeUpload(RejectedUpload):
    """An image with more pixels than are allowed."""


@dataclass(frozen=True)
class Upload:
    """A photo that was sent, as a file the backbone can be shown, and upright in RGB."""

    file: Path
    image: Image.Image
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
            _reject_measures(*opened.size, pixels)
            kind, image = opened.format, upright(opened).copy()
    except RejectedUpload:
        raise
    except Image.DecompressionBombError as error:
        raise LargeUpload(f"The image is larger than {pixels / 1e6:g} megapixels; send a smaller one.") from error
    # Whatever a decoder stumbles over in a stranger's bytes, they are no image: an OSError most often, but also
    # struct.error, IndexError, KeyError, ZeroDivisionError, …
    except Exception as error:
        raise RejectedUpload("This is no whole image of a kind that can be opened here.") from error
    if kind == "JPEG":
        file = folder / "photo.jpg"
        file.write_bytes(data)
    else:
        file = folder / "photo.bmp"
        image.save(file, "BMP")
    return Upload(file, image, image.width, image.height)


def _opened(data: bytes) -> Image.Image:
    from PIL import Image

    image_suffixes()  # registers plugins
    return Image.open(io.BytesIO(data), formats=[name for name in FORMATS if name in Image.OPEN])


def _reject_measures(width: int, height: int, pixels: int) -> None:
    if width * height > pixels:
        there, allowed = width * height / 1e6, pixels / 1e6
        raise LargeUpload(f"The image has {there:.1f} megapixels and {allowed:g} are allowed; send a smaller one.")
    if min(width, height) < 1 or max(width, height) > SLIMMEST * min(width, height):
        raise RejectedUpload(f"An image of {width} x {height} is too slim to be looked at.")
