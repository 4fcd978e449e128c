"""Adding stored pixels that arrive in parts, for machines that receive data piece by piece.

A part to add is a folder with `images.bin` (encoded squares back to back), `offsets.npy` [n + 1] and `ids.npy` [n], the
ids of the images in the pack.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_folder, link_or_copy, load_array, save_array
from tellapart.data.pack import Pack
from tellapart.data.stored_pixels import (
    FOLDER,
    StoredPixels,
    describe_part,
    describe_pixels,
    has_pixels,
    ids_hash,
    next_part,
)

NEEDED = ("images.bin", "offsets.npy", "ids.npy")


def is_part(folder: Path) -> bool:
    """Whether a folder is a part to add."""
    return all((folder / name).is_file() for name in NEEDED)


def part_ids(folder: Path) -> list[str]:
    """The ids of the images in a part to add."""
    missing = next((name for name in NEEDED if not (folder / name).is_file()), None)
    if missing:
        raise InputError(f"{folder} is not a part of stored pixels: it has no {missing}.")
    return [str(key) for key in load_array(folder / "ids.npy").tolist()]


def add_pixels(pack: Pack, folder: Path | str) -> int:
    """Add a part to the pack's stored pixels; returns how many of its images are new to the pack's pixels.

    Images that the pack does not have are kept out of reach: the file is taken whole. A part whose images are all
    stored already changes nothing.
    """
    folder = Path(folder)
    place = {image.id: row for row, image in enumerate(pack.images)}
    rows = np.asarray([place.get(key, -1) for key in part_ids(folder)], np.int64)
    offsets = load_array(folder / "offsets.npy")
    side, codec = _checked(folder, offsets, len(rows))
    if not (rows >= 0).any():
        raise InputError(f"No image of {folder} is in {pack.folder}; its ids.npy names others.")
    if len(np.unique(rows[rows >= 0])) != (rows >= 0).sum():
        raise InputError(f"{folder} holds an image twice; each id may be in ids.npy once.")
    known = StoredPixels(pack).stored if has_pixels(pack) else np.zeros(len(pack.images), dtype=bool)
    new = (rows >= 0) & ~known[rows]
    if not new.any():
        return 0
    describe_pixels(pack.folder, side, codec, None)
    with atomic_folder(next_part(pack.folder / FOLDER)) as partial:
        if new.all():
            link_or_copy(folder / "images.bin", partial / "images.bin")
            save_array(partial / "offsets.npy", offsets.astype(np.int64))
        else:
            _copy_some(folder / "images.bin", offsets, new, partial)
        save_array(partial / "rows.npy", rows[new])
        describe_part(partial, ids_hash(pack))
    return int(new.sum())


def _checked(folder: Path, offsets: np.ndarray, images: int) -> tuple[int, str]:
    """Side and format of the squares in a part; InputError if its files do not belong together."""
    from PIL import Image

    size = (folder / "images.bin").stat().st_size
    if (
        len(offsets) != images + 1
        or images == 0
        or offsets[0] != 0
        or offsets[-1] != size
        or (np.diff(offsets) < 1).any()
    ):
        raise InputError(
            f"{folder} is incomplete: images.bin has {size:,} bytes, which its offsets.npy and ids.npy do not divide "
            f"into {images:,} images. Copy it again."
        )
    found: set[tuple[int, int]] = set()
    codec = ""
    data = np.memmap(folder / "images.bin", dtype=np.uint8, mode="r")
    for number in range(images):
        try:
            with Image.open(io.BytesIO(data[int(offsets[number]) : int(offsets[number + 1])].tobytes())) as image:
                found.add(image.size)
                codec = codec or str(image.format).lower()
        except OSError as error:
            raise InputError(f"{folder}: image {number} of images.bin cannot be opened ({error}).") from error
    if len(found) > 1 or len(set(next(iter(found)))) > 1:
        raise InputError(f"{folder}: the images must be squares of one size, not {sorted(found)[:3]}.")
    return next(iter(found))[0], codec


def _copy_some(source: Path, offsets: np.ndarray, chosen: np.ndarray, folder: Path) -> None:
    """The chosen images [n] bool of a file as images.bin and offsets.npy of a folder."""
    lengths = []
    with source.open("rb") as read, (folder / "images.bin").open("wb") as write:
        for number in np.flatnonzero(chosen).tolist():
            read.seek(int(offsets[number]))
            lengths.append(write.write(read.read(int(offsets[number + 1] - offsets[number]))))
    save_array(folder / "offsets.npy", np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
