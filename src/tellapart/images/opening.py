"""Opening an image file whole, and explaining why a file cannot be opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tellapart.core.errors import InputError
from tellapart.images.checking import check_image
from tellapart.images.formats import NEEDS, how_to_open, image_suffixes, photo_suffixes
from tellapart.images.opening_files import open_photo
from tellapart.images.orientation import upright
from tellapart.images.pixel_budget import BUDGET

if TYPE_CHECKING:
    from PIL import Image


class UnreadableImage(InputError):
    """A file that is missing, truncated or not an image."""


def open_image(path: Path) -> Image.Image:
    """The whole image in RGB, rotated upright as its EXIF orientation says."""
    image_suffixes()  # registers plugins
    try:
        with open_photo(path, path.suffix) as opened, BUDGET.decoding(*opened.size):
            image = upright(opened)
            return opened.copy() if image is opened else image
    except Exception as error:  # a decoder may raise anything for a broken file, and it concerns this image only
        raise UnreadableImage(why_unreadable(path, str(error))) from error


def why_unreadable(path: Path, otherwise: str) -> str:
    """Why a file cannot be opened as an image; `otherwise` if decoding it again finds no fault."""
    if path.is_dir():
        return f"{path} is a folder, not an image; give the images in it"
    suffix = path.suffix.lower()
    fault = check_image(path, "full").fault or otherwise
    if suffix in NEEDS and suffix not in photo_suffixes():
        fault = f"this format needs an extra: `{how_to_open(suffix)}`"
    return f"{path} cannot be used: {fault}"
