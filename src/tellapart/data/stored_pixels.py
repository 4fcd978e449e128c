"""Images stored in a pack as small squares, so that a machine without the image files can train on pixels.

    PACK/pixels/
      pixels.json          side in pixels, how images become squares, format and quality
      00000/               a part; it appears when it is complete
        images.bin         encoded images (WebP or JPEG), back to back
        offsets.npy        [n + 1]: image i has bytes offsets[i] … offsets[i + 1] - 1
        rows.npy           [n] rows of the pack
        part.json          number of images, SHA-256 of the three files, and of the ids of the pack's images

Parts may arrive one by one (`data/add_pixels.py`). An image in no part is read from its file.
"""

from __future__ import annotations

import hashlib
import io
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError, Step
from tellapart.core.files import load_array, read_json, write_json
from tellapart.data.pack import Pack

FOLDER = "pixels"
FILES = ("images.bin", "offsets.npy", "rows.npy")


def part_hash(folder: Path) -> str:
    """SHA-256 over the files of a part."""
    digest = hashlib.sha256()
    for name in FILES:
        with (folder / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


class PixelPart:
    """One opened part."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.facts = folder, read_json(folder / "part.json")
        self.offsets, self.rows = load_array(folder / "offsets.npy"), load_array(folder / "rows.npy")
        size = (folder / "images.bin").stat().st_size
        if len(self.offsets) != len(self.rows) + 1 or int(self.offsets[-1]) != size:
            raise InputError(f"{folder} is damaged: its images.bin does not fit its offsets.npy. {ADVICE}")

    @cached_property
    def data(self) -> np.ndarray:
        """All bytes, memory-mapped."""
        return np.memmap(self.folder / "images.bin", dtype=np.uint8, mode="r")

    def encoded(self, place: int) -> bytes:
        """The bytes of the image at a place of the part."""
        return self.data[int(self.offsets[place]) : int(self.offsets[place + 1])].tobytes()

    def verify(self) -> None:
        """Raise an InputError if the files are not those that were written."""
        if part_hash(self.folder) != self.facts["sha256"]:
            raise InputError(f"{self.folder} is damaged: its files have changed since they were written. {ADVICE}")


ADVICE = "Remove the folder and add or store these pixels again."


class StoredPixels:
    """The stored pixels of a pack. Every worker process may open them by path."""

    def __init__(self, pack: Pack) -> None:
        self.folder = pack.folder / FOLDER
        if not has_pixels(pack):
            raise InputError(
                f"{pack.folder} has no stored pixels; store them first.", Step("extract", pack.folder, store_pixels=224)
            )
        self.facts: dict[str, Any] = read_json(self.folder / "pixels.json")
        self.parts = [PixelPart(folder) for folder in part_folders(self.folder)]
        own = ids_hash(pack)
        foreign = next((part for part in self.parts if part.facts["pack"] != own), None)
        if foreign is not None:
            raise InputError(f"{foreign.folder} belongs to another pack than {pack.folder}. {ADVICE}")
        self.part = np.full(len(pack.images), -1, np.int32)
        self.place = np.zeros(len(pack.images), np.int64)
        for number, part in enumerate(self.parts):
            self.part[part.rows], self.place[part.rows] = number, np.arange(len(part.rows))

    @property
    def side(self) -> int:
        """Side of the squares in pixels."""
        return int(self.facts["side"])

    @property
    def stored(self) -> np.ndarray:
        """[I] bool: the images of the pack that are in a part."""
        return self.part >= 0

    def encoded(self, row: int) -> bytes:
        """The encoded image of a row."""
        return self.parts[int(self.part[row])].encoded(int(self.place[row]))

    def verify(self) -> None:
        """Raise an InputError if any file has changed since it was written."""
        for part in self.parts:
            part.verify()


def decoded(data: bytes) -> np.ndarray:
    """An encoded image as uint8 [S, S, 3]."""
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def has_pixels(pack: Pack) -> bool:
    """Whether a pack has stored pixels, be it of some images only."""
    return (pack.folder / FOLDER / "pixels.json").is_file()


def part_folders(folder: Path) -> list[Path]:
    """The complete parts in order."""
    return sorted(path.parent for path in folder.glob("[0-9]*/part.json"))


def next_part(folder: Path) -> Path:
    """The folder of a part to add."""
    numbers = [int(path.name) for path in folder.glob("[0-9]*")]
    return folder / f"{max(numbers, default=-1) + 1:05d}"


def describe_part(folder: Path, ids: str) -> None:
    """Write part.json, the last file of a part; `ids` is the pack's `ids_hash`."""
    facts = {"images": len(load_array(folder / "rows.npy")), "sha256": part_hash(folder)}
    write_json(folder / "part.json", {**facts, "pack": ids})


def ids_hash(pack: Pack) -> str:
    """A hash of the ids of a pack's images in their order: equal for packs of the same images."""
    digest = hashlib.sha256()
    for row, image in enumerate(pack.images):
        digest.update(f"\n{image.id}".encode() if row else image.id.encode())
    return digest.hexdigest()


def describe_pixels(pack: Path, side: int, codec: str, quality: int | None) -> None:
    """Write pixels.json into a pack's folder, or raise an InputError if the pack has pixels of another side."""
    path = pack / FOLDER / "pixels.json"
    if path.is_file():
        known = read_json(path)["side"]
        if known != side:
            raise InputError(
                f"{pack} has stored pixels of side {known}, not {side}; store the same, or remove {path.parent}."
            )
        return
    write_json(path, {"side": side, "resize": "squash", "codec": codec, "quality": quality})
