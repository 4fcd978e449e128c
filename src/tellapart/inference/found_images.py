"""Images as callers give them: paths of photos, folders and patterns, or images in memory."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable

from tellapart.images.folders import find_some_photos
from tellapart.images.sources import ImageInput, as_images


def found_images(images: ImageInput | Iterable[ImageInput]) -> list[ImageInput]:
    """Images with every path expanded: a folder or a pattern gives all of its images."""
    found: list[ImageInput] = []
    for image in as_images(images)[0]:
        found += find_some_photos(image).photos if isinstance(image, str | os.PathLike) else [image]
    return found


def identity(image: ImageInput) -> Hashable:
    """Equal for one image given twice."""
    return os.path.realpath(image) if isinstance(image, str | os.PathLike) else id(image)
