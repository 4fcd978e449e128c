"""Opening any file that can be shown as a photo, by its suffix."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tellapart.images.formats import RAW, VIDEO
from tellapart.images.previews import largest_page, open_raw, open_video

if TYPE_CHECKING:
    from PIL import Image

OPENERS: dict[str, Callable[[io.BytesIO | Path], Image.Image]] = {
    **dict.fromkeys(RAW, open_raw),
    **dict.fromkeys(VIDEO, open_video),
}


def open_photo(file: io.BytesIO | Path, suffix: str) -> Image.Image:
    """An image that Pillow opened: the file itself, the preview of a raw photo, or a key frame of a video."""
    from PIL import Image

    opener = OPENERS.get(suffix.lower())
    return largest_page(Image.open(file)) if opener is None else opener(file)
