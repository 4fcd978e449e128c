"""Where the images of a streamed pack go: into the pack as small squares, or into files as they are."""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.files import save_array
from tellapart.data.store_pixels import CODECS, PART_IMAGES, encoded_square
from tellapart.data.stored_pixels import FOLDER, describe_part, describe_pixels
from tellapart.data.unpack_shards import unpacked_name

QUALITY = 80


def size_of(image: bytes) -> tuple[int, int] | None:
    """Width and height of an image by its header; None if it has none."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(image)) as opened:
            return opened.size
    except Exception:  # a decoder may raise anything for a broken file, and it concerns this file only
        return None


class FilesWriter:
    """Writes images into a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def size(self, image: bytes) -> tuple[int, int] | None:
        """Width and height; None for an image that cannot be read."""
        return size_of(image)

    def add(self, number: int, image: bytes, suffix: str) -> str:
        """Write an image; returns its path in the folder."""
        name = unpacked_name(number, suffix)
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_bytes(image)
        return name

    def close(self, ids: str) -> None:
        """Nothing is left to write."""


class PixelsWriter:
    """Writes squares of one side into the parts of a pack's stored pixels."""

    def __init__(self, pack: Path, side: int, codec: str = "webp") -> None:
        if side < 16:
            raise InputError(f"`store_pixels` takes a side of at least 16, not {side}.")
        self.folder, self.how = pack / FOLDER, (side, CODECS[codec], QUALITY)
        describe_pixels(pack, side, codec, QUALITY)
        self.square = b""
        self.file: BinaryIO | None = None
        self.lengths: list[int] = []
        self.rows: list[int] = []
        self.parts: list[Path] = []

    def size(self, image: bytes) -> tuple[int, int] | None:
        """Width and height; None for an image that cannot be read. Keeps the square for `add`."""
        size = size_of(image)
        if size is None:
            return None
        try:
            self.square = encoded_square(io.BytesIO(image), *self.how)
        except InputError:  # it has a header, and the rest cannot be decoded
            return None
        return size

    def add(self, number: int, image: bytes, suffix: str) -> str:
        """Store the square of the image whose size was asked for last."""
        if self.file is None:
            self.parts.append(self.folder / f"{len(self.parts):05d}")
            self.parts[-1].mkdir(parents=True)
            self.file = (self.parts[-1] / "images.bin").open("wb")
        self.lengths.append(self.file.write(self.square))
        self.rows.append(number)
        if len(self.rows) == PART_IMAGES:
            self._end_part()
        return ""

    def close(self, ids: str) -> None:
        """Describe all parts; `ids` is the hash of the pack's image ids."""
        self._end_part()
        for part in self.parts:
            describe_part(part, ids)

    def _end_part(self) -> None:
        if self.file is None:
            return
        self.file.close()
        self.file = None
        offsets = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        save_array(self.parts[-1] / "offsets.npy", offsets)
        save_array(self.parts[-1] / "rows.npy", np.asarray(self.rows, np.int64))
        self.lengths, self.rows = [], []
