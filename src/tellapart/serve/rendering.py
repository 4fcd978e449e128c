"""Images as the page shows them: always decoded and drawn anew, so that nothing but pixels leaves the machine."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tellapart.images.decoding import read_image
from tellapart.images.opening import UnreadableImage
from tellapart.serve.recent import Recent

if TYPE_CHECKING:
    from PIL import Image

Size = Literal["small", "large"]
SIDES: dict[str, int] = {"small": 320, "large": 1280}
KEPT = 64 * 1024 * 1024
"""Bytes of images that are kept in memory."""


class PhotoRenderer:
    """JPEGs of the index's images; those asked for last come from memory."""

    def __init__(self) -> None:
        self._kept: Recent[bytes] = Recent(KEPT)

    def jpeg(self, file: Path, size: Size) -> bytes:
        """Upright, without EXIF; an UnreadableImage where the file is none any more."""
        from PIL import Image

        try:
            key = (str(file), file.stat().st_mtime_ns, size)
        except OSError as error:
            raise UnreadableImage(f"{file} is gone") from error
        there = self._kept.get(key)
        if there is None:
            there = as_jpeg(Image.fromarray(read_image(file, SIDES[size])), SIDES[size])
            self._kept.put(key, there, len(there))
        return there


def as_jpeg(image: Image.Image, side: int) -> bytes:
    """An RGB image, made smaller where it is larger than `side`."""
    from PIL import Image

    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    written = io.BytesIO()
    image.save(written, "JPEG", quality=85)
    return written.getvalue()
