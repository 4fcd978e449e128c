"""Decoding image files to square uint8 tensors; the backbone normalises them, where it costs least.

Two ways to a square: `squash` keeps the whole image, so that a box in fractions of the image is the same box in
fractions of the square; `crop` resizes the short side to size / 0.875 and crops the centre, as the papers do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tellapart.images.preprocessing import Interpolation, Preprocessing
from tellapart.images.reading import read_image, read_squashed
from tellapart.images.sources import ImageSource

__all__ = ["Resize", "Square", "read_image", "read_middle", "read_part", "read_square", "read_whole", "stacked"]

Resize = Literal["squash", "crop", "own"]
"""own: as the image processor of the model does."""
Box = tuple[float, float, float, float]

LARGEST_RATIO = 50
"""Of images with a larger ratio of long to short side only the centre is resized."""
WHOLE: Box = (0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True)
class Square:
    """An image resized to a square."""

    pixels: Tensor  # [3, S, S] uint8
    window: Box
    """The part of the image that the square shows, in fractions of width and height."""


def read_square(source: ImageSource, preprocessing: Preprocessing, resize: Resize) -> Square:
    """Open an image, rotate it upright and resize it."""
    size = preprocessing.size
    if resize == "squash" and preprocessing.interpolation == "bilinear":  # the same pixels with torch and without
        return Square(_channels_last(read_squashed(source, size))[0], WHOLE)
    short = size if resize == "squash" else round(size / preprocessing.crop)
    image = _channels_last(read_image(source, short))
    if resize == "squash":
        return Square(_resized(image, size, size, preprocessing.interpolation)[0], WHOLE)
    image, (x, y, across, down) = _middle(image)
    height, width = image.shape[2:]
    scale = short / min(height, width)
    tall, wide = max(short, round(height * scale)), max(short, round(width * scale))
    top, left = (tall - size) // 2, (wide - size) // 2
    resized = _resized(image, tall, wide, preprocessing.interpolation)
    window = (
        x + across * left / wide,
        y + down * top / tall,
        x + across * (left + size) / wide,
        y + down * (top + size) / tall,
    )
    return Square(resized[0, :, top : top + size, left : left + size], window)


def _middle(image: Tensor) -> tuple[Tensor, Box]:
    """The centre of a very narrow image [1, 3, H, W], and its left, top, width and height in fractions. Resizing an
    image of 60,000 x 1 pixels to a short side of 256 would take 12 GB."""
    height, width = image.shape[2:]
    if max(height, width) <= LARGEST_RATIO * min(height, width):
        return image, (0.0, 0.0, 1.0, 1.0)
    most = LARGEST_RATIO * min(height, width)
    tall, wide = min(height, most), min(width, most)
    top, left = (height - tall) // 2, (width - wide) // 2
    middle = image[:, :, top : top + tall, left : left + wide]
    return middle, (left / width, top / height, wide / width, tall / height)


def read_middle(path: Path, size: int) -> Tensor:  # [3, S, S] uint8
    """The centre of an image, as in the evaluation of networks that train on pixels."""
    return read_square(path, Preprocessing(size, (0, 0, 0), (1, 1, 1)), "crop").pixels


def read_whole(path: ImageSource, size: int) -> np.ndarray:  # [S, S, 3] uint8
    """A whole image squashed to a square."""
    return read_square(path, Preprocessing(size, (0, 0, 0), (1, 1, 1)), "squash").pixels.permute(1, 2, 0).numpy()


def read_part(path: Path, size: int, part: Box) -> Tensor:  # [3, S, S] uint8
    """A part of an image, x1 y1 x2 y2 in fractions of it, stretched to a square."""
    share = max(0.1, min(part[2] - part[0], part[3] - part[1]))
    whole = _channels_last(read_image(path, round(size / share)))
    height, width = whole.shape[2:]
    left, top = min(width - 1, int(part[0] * width)), min(height - 1, int(part[1] * height))
    right, bottom = max(left + 1, round(part[2] * width)), max(top + 1, round(part[3] * height))
    return _resized(whole[:, :, top:bottom, left:right].contiguous(), size, size, "bilinear")[0]


def stacked(squares: Sequence[Square]) -> Tensor:
    """[I, 3, S, S] uint8 in channels-last memory format, without transposing."""
    return torch.stack([square.pixels.permute(1, 2, 0) for square in squares]).permute(0, 3, 1, 2)


def _channels_last(image: np.ndarray) -> Tensor:
    """[H, W, 3] as [1, 3, H, W] in channels-last memory format, which resizing keeps."""
    return torch.from_numpy(image).unsqueeze(0).permute(0, 3, 1, 2)


def _resized(image: Tensor, height: int, width: int, interpolation: Interpolation) -> Tensor:
    """Antialiased resize of uint8 [1, 3, H, W] with torch: within one level of PIL's and twice as fast."""
    if image.shape[2:] == (height, width):
        return image
    return F.interpolate(image, (height, width), mode=interpolation, antialias=True)
