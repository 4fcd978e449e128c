"""Images as callers give them: paths, open files, PIL images or arrays, one or many."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from PIL import Image

from tellapart.core.errors import InputError
from tellapart.images.opening_files import open_photo
from tellapart.images.remote import RemoteFile, is_address
from tellapart.images.verified_file import VerifiedFile

ImageInput = str | os.PathLike[str] | Image.Image | np.ndarray | BinaryIO | VerifiedFile | RemoteFile
"""A path or an address, a PIL image, an array [H, W, 3] or [H, W] of uint8, or a file opened for reading bytes."""
ImageSource = Path | io.BytesIO | Image.Image | VerifiedFile | RemoteFile
"""What decoding reads from."""


def as_images(images: ImageInput | Iterable[ImageInput]) -> tuple[list[ImageInput], bool]:
    """A list of images, and whether one image was given instead of many. A string is one path, never its letters.

    >>> as_images("cat.jpg")
    (['cat.jpg'], True)
    >>> as_images(["cat.jpg", Path("dog.jpg")])[1]
    False
    """
    if isinstance(images, np.ndarray):
        return (list(images), False) if images.ndim == 4 else ([images], True)
    if isinstance(images, str | os.PathLike | Image.Image) or hasattr(images, "read"):
        return [images], True  # type: ignore[list-item]
    if isinstance(images, bytes) or not isinstance(images, Iterable):
        raise InputError(_not_an_image(images))
    return list(images), False


def as_source(image: ImageInput | ImageSource) -> ImageSource:
    """An image in a form that decoding reads: a path, the bytes of a file, or a PIL image."""
    if isinstance(image, VerifiedFile | RemoteFile):
        return image
    if isinstance(image, str | os.PathLike):
        return RemoteFile(str(image)) if is_address(image) else Path(image)
    if isinstance(image, io.BytesIO):
        return io.BytesIO(_rest_of(image) or b"")
    if isinstance(image, Image.Image):
        return image
    if isinstance(image, np.ndarray):
        return _from_array(image)
    if hasattr(image, "read") and (data := _rest_of(image)) is not None:
        return io.BytesIO(data)
    raise InputError(_not_an_image(image))


def _rest_of(file: Any) -> bytes | None:
    """The bytes of an open file from where it stands, and it stands there again: an image may be read twice. None for
    a file of text."""
    place = file.tell() if hasattr(file, "seekable") and file.seekable() else None
    data = file.read()
    if place is not None:
        file.seek(place)
    return data if isinstance(data, bytes) else None


def name_of(image: ImageInput | ImageSource) -> str | None:
    """The path of an image, or of the file it was opened from; None for an image that exists in memory only."""
    if isinstance(image, str | os.PathLike):
        return os.fspath(image)
    if isinstance(image, VerifiedFile | RemoteFile):
        return str(image.path if isinstance(image, VerifiedFile) else image)
    name = getattr(image, "filename", "") or getattr(image, "name", "")
    return name if isinstance(name, str) and name else None


def opened(source: ImageSource) -> AbstractContextManager[Image.Image]:
    """A source opened by Pillow; a PIL image stays open."""
    if isinstance(source, Image.Image):
        return contextlib.nullcontext(source)
    if isinstance(source, VerifiedFile):
        return open_photo(source.read(), source.path.suffix)
    if isinstance(source, RemoteFile):
        return open_photo(io.BytesIO(source.read_bytes()), source.suffix)
    return open_photo(source, source.suffix if isinstance(source, Path) else "")


def _from_array(array: np.ndarray) -> Image.Image:
    if array.dtype != np.uint8 or not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] == 3)) or not array.size:
        raise InputError(
            f"An image array has the shape [height, width, 3] and the type uint8, not {list(array.shape)} and "
            f"{array.dtype}."
        )
    return Image.fromarray(array)


def _not_an_image(value: object) -> str:
    return f"{type(value).__name__} is not an image; give a path, an open file, a PIL image or an array."
