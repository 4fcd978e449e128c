"""Storing the images of a pack in it as small squares (`data/stored_pixels.py` describes the files)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_folder, save_array
from tellapart.core.progress import Advance, progress_bar
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

CODECS = {"webp": "WEBP", "jpeg": "JPEG"}
PART_IMAGES = 8192
"""Images per part: an interrupted call loses at most one part."""
TOGETHER = 256
"""Images that are encoded before any is written."""


def store_pixels(
    pack: Pack,
    side: int = 224,
    *,
    codec: str = "webp",
    quality: int = 80,
    workers: int = 8,
    progress: bool = False,
    part_images: int = PART_IMAGES,
) -> StoredPixels:
    """Store every image of the pack that is not stored yet, squashed to a square of `side` pixels."""
    if side < 16 or not 1 <= quality <= 100 or codec not in CODECS:
        raise InputError(
            f"`store_pixels` takes a side of at least 16, a quality from 1 to 100 and one of {', '.join(CODECS)}, not "
            f"{side}, {quality} and {codec}."
        )
    known = StoredPixels(pack).stored if has_pixels(pack) else np.zeros(len(pack.images), dtype=bool)
    rows = np.flatnonzero(~known)
    missing = [row for row in rows.tolist() if not pack.images[row].file]
    if missing:
        raise InputError(
            f"{len(missing)} images of {pack.folder} have no file, {pack.images[missing[0]].id} among them, so their "
            "pixels cannot be stored; add the parts that hold them."
        )
    describe_pixels(pack.folder, side, codec, quality)
    with progress_bar(len(rows), "storing pixels", enabled=progress, unit="images") as advance:
        for first in range(0, len(rows), part_images):
            some = rows[first : first + part_images]
            with atomic_folder(next_part(pack.folder / FOLDER)) as partial, ThreadPoolExecutor(workers) as pool:
                _write_part(partial, pack, some, _encoded(pool, pack, some, (side, CODECS[codec], quality)), advance)
    return StoredPixels(pack)


def _write_part(folder: Path, pack: Pack, rows: np.ndarray, images: Iterator[bytes], advance: Advance) -> None:
    lengths = []
    with (folder / "images.bin").open("wb") as file:
        for data in images:
            lengths.append(file.write(data))
            advance(1)
    save_array(folder / "offsets.npy", np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    save_array(folder / "rows.npy", rows.astype(np.int64))
    describe_part(folder, ids_hash(pack))


def _encoded(pool: ThreadPoolExecutor, pack: Pack, rows: np.ndarray, how: tuple[int, str, int]) -> Iterator[bytes]:
    """The encoded images in order; no more than TOGETHER are in memory."""
    for first in range(0, len(rows), TOGETHER):
        paths = [pack.image_path(row) for row in rows[first : first + TOGETHER].tolist()]
        yield from pool.map(lambda path: encoded_square(path, *how), paths)


def encoded_square(path: Path | io.BytesIO, side: int, form: str, quality: int) -> bytes:
    """An image file, or its bytes, squashed to a square and encoded."""
    from PIL import Image

    from tellapart.images.decoding import read_whole

    buffer = io.BytesIO()
    Image.fromarray(read_whole(path, side)).save(buffer, form, quality=quality)
    return buffer.getvalue()
