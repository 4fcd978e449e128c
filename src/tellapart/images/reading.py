"""Reading image files as upright arrays, at reduced size where that is enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tellapart.images.opening import UnreadableImage
from tellapart.images.orientation import upright
from tellapart.images.pixel_budget import BUDGET, return_free_memory
from tellapart.images.sources import ImageSource, name_of, opened

if TYPE_CHECKING:
    from PIL import Image

LARGE = 25_000_000
"""Images of more pixels are reduced while they are decoded."""


def read_image(source: ImageSource, short: int) -> np.ndarray:
    """An image upright in RGB [H, W, 3], of at least `short` pixels a side where it has them.

    JPEG files are decoded at the smallest such scale. Of other large images small squares of pixels are averaged at
    once, so that only one thread holds a large image, and no thread two.
    """
    return _read(source, short, np.array)


def _read(source: ImageSource, short: int, as_array: Callable[[Image.Image], np.ndarray]) -> np.ndarray:
    """What a function makes of an upright image in RGB."""
    name = name_of(source) or "An image in memory"
    try:
        with opened(source) as image:
            if image.format == "JPEG" and image is not source:
                image.draft("RGB", (short, short))
            with BUDGET.decoding(*image.size):
                large = image.width * image.height > LARGE
                turned = upright(image, reduction(*image.size, short))
                if turned is not image and image is not source:
                    image.close()  # before a third copy of a large image is made
                array = as_array(turned)
                if image is not source:
                    image.close()  # frees its pixels now: cycles of references would keep them for a while
                    del turned
                    if large:
                        return_free_memory()
                return array
    except UnreadableImage:
        raise
    except FileNotFoundError as error:
        raise UnreadableImage(f"{name} does not exist") from error
    except Exception as error:  # a decoder may raise anything for a broken file, and it concerns this image only
        raise UnreadableImage(f"{name} cannot be opened as an image ({_reason(error)})") from error


def _reason(error: Exception) -> str:
    """What a decoder says, without names of objects in memory."""
    from PIL import UnidentifiedImageError

    return "its format is not recognised" if isinstance(error, UnidentifiedImageError) else str(error)


def read_squashed(source: ImageSource, size: int) -> np.ndarray:
    """A whole image squashed to a square [S, S, 3], by Pillow."""
    from PIL import Image

    def squashed(image: Image.Image) -> np.ndarray:
        same = image.size == (size, size)
        return np.array(image if same else image.resize((size, size), Image.Resampling.BILINEAR))

    return _read(source, size, squashed)


def reduction(width: int, height: int, short: int) -> int:
    """How many pixels a side become one: 1 for usual images, and at least twice `short` remain of a large one."""
    return max(1, min(width, height) // (2 * short)) if width * height > LARGE else 1
