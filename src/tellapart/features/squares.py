"""Where extraction reads an image: its file, or the square of it that the pack stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import torch

from tellapart.core.errors import InputError, Step
from tellapart.data.pack import Pack
from tellapart.data.squares import Squares
from tellapart.data.stored_pixels import has_pixels
from tellapart.features.backbones import Backbone
from tellapart.images.decoding import WHOLE, Resize, Square

From = Literal["files", "stored"]


def square_reader(pack: Pack, backbone: Backbone, resize: Resize, images: From) -> Callable[[int], Square]:
    """A function from an image's row to the square that the backbone reads."""
    if images == "files":
        return lambda row: backbone.square(pack.image_path(row), resize)
    check_stored(pack, resize)
    squares = Squares(pack, backbone.preprocessing.size)
    squares.check(np.arange(len(pack.images)))
    return lambda row: Square(torch.from_numpy(squares.read(row).transpose(2, 0, 1).copy()), WHOLE)


def check_stored(pack: Pack, resize: str) -> None:
    """Raise an InputError if the pack stores no squares, or if they cannot be what the backbone should see."""
    if not has_pixels(pack):
        raise InputError(
            f"{pack.folder} stores no images; store them first, or extract from the files.",
            Step("extract", pack.folder, store_pixels=224),
        )
    if resize not in ("auto", "squash"):
        raise InputError(f"Stored images are whole images squashed to squares; `resize` cannot be {resize}.")
