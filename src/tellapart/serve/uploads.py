"""Uploaded photos: the header is checked before any pixel is decoded."""

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
"""Pillow opens more formats, but PostScript runs a program and some others refer to other files."""
HEIC_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
"""What HEIC and HEIF files begin with, after four bytes and `ftyp` (ISO/IEC 23008-12)."""
MAX_ASPECT = 50
"""Longer images would fill the memory once their short side is scaled to the network's input size."""


class RejectedUpload(InputError):
    """A file that is not an image, or not safe to open."""


class UploadTooLarge(RejectedUpload):
    """An image with too many pixels."""


@dataclass(frozen=True)
class Upload:
    """An uploaded photo: a file for the backbone, and the upright RGB image."""

    file: Path
    image: Image.Image
    width: int
    height: int


def save_upload(data: bytes, max_pixels: int, folder: Path) -> Upload:
    """Decode an image of at most `max_pixels` pixels and save it in a folder under a fixed name.

    A JPEG is saved unchanged: the backbone decodes it at a smaller scale, as `index` does, and Pillow reads nothing
    else as a JPEG. Other formats are saved as BMP, so that no second decoder reads the uploaded bytes.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with _open(data) as opened:
            _check_size(*opened.size, max_pixels)
            format_, image = opened.format, upright(opened).copy()
    except RejectedUpload:
        raise
    except Image.DecompressionBombError as error:
        raise UploadTooLarge(
            f"The image is larger than {max_pixels / 1e6:g} megapixels; send a smaller one."
        ) from error
    except UnidentifiedImageError as error:
        raise RejectedUpload(unknown_format(data)) from error
    # Decoders raise many errors on broken files: OSError most often, but also struct.error, IndexError, KeyError, …
    except Exception as error:
        raise RejectedUpload(unreadable()) from error
    if format_ == "JPEG":
        file = folder / "photo.jpg"
        file.write_bytes(data)
    else:
        file = folder / "photo.bmp"
        image.save(file, "BMP")
    return Upload(file, image, image.width, image.height)


def unreadable() -> str:
    """What a visitor reads about a file that cannot be decoded."""
    return f"The file is not a complete image; {_what_to_send()}"


def unknown_format(data: bytes) -> str:
    """What a visitor reads about a file in a format that this server does not open.

    >>> unknown_format(b"hello").split(";")[0]
    'The file is not an image in a format that this server opens'
    """
    if data[4:8] == b"ftyp" and data[8:12] in HEIC_BRANDS and "HEIF" not in _formats():
        return f"This server does not open HEIC photos (its extra `heic` is missing); {_what_to_send()}"
    return f"The file is not an image in a format that this server opens; {_what_to_send()}"


def _what_to_send() -> str:
    *names, last = _formats()
    return f"send a {', '.join(names)} or {last} file."


def _formats() -> list[str]:
    from PIL import Image

    image_suffixes()  # registers plugins
    return [name for name in FORMATS if name in Image.OPEN]


def _open(data: bytes) -> Image.Image:
    from PIL import Image

    return Image.open(io.BytesIO(data), formats=_formats())


def _check_size(width: int, height: int, max_pixels: int) -> None:
    if width * height > max_pixels:
        raise UploadTooLarge(
            f"The image has {width * height / 1e6:.1f} megapixels; the limit is {max_pixels / 1e6:g}. "
            "Send a smaller one."
        )
    if min(width, height) < 1 or max(width, height) > MAX_ASPECT * min(width, height):
        raise RejectedUpload(
            f"The image is too narrow ({width} x {height}); its long side can be at most {MAX_ASPECT} times the short "
            "one."
        )
