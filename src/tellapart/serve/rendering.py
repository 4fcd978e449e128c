"""Photos as the page shows them: decoded and encoded again, so that only pixels leave the machine."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tellapart.core.lru_cache import LRUCache
from tellapart.images.opening import UnreadableImage
from tellapart.images.reading import read_image

if TYPE_CHECKING:
    from PIL import Image

Size = Literal["small", "large"]
SIDES: dict[str, int] = {"small": 320, "large": 1280}
CACHE_BYTES = 64 * 1024 * 1024


class PhotoRenderer:
    """Makes JPEGs of photos and caches the most recent ones."""

    def __init__(self) -> None:
        self._cache: LRUCache[bytes] = LRUCache(CACHE_BYTES)

    def jpeg(self, file: Path, size: Size) -> bytes:
        """The photo upright and without EXIF; an UnreadableImage if the file cannot be decoded."""
        from PIL import Image

        try:
            key = (str(file), file.stat().st_mtime_ns, size)
        except OSError as error:
            raise UnreadableImage(f"{file} no longer exists") from error
        jpeg = self._cache.get(key)
        if jpeg is None:
            jpeg = to_jpeg(Image.fromarray(read_image(file, SIDES[size])), SIDES[size])
            self._cache.put(key, jpeg, len(jpeg))
        return jpeg


def to_jpeg(image: Image.Image, side: int) -> bytes:
    """An RGB image as a JPEG, scaled down to `side` pixels if it is larger."""
    from PIL import Image

    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.save(file, "JPEG", quality=85)
    return file.getvalue()
