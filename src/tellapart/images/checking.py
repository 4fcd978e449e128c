"""Checking that a file is a whole image."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tellapart.core.progress import Advance
from tellapart.images.formats import image_suffixes
from tellapart.images.opening_files import open_photo
from tellapart.images.pixel_budget import BUDGET

Check = Literal["header", "full"]


@dataclass(frozen=True)
class Checked:
    """Size of an image file in pixels, or its fault. `fault` is empty for a good image."""

    width: int = 0
    height: int = 0
    kind: str = ""
    fault: str = ""


def check_image(path: Path, check: Check = "header") -> Checked:
    """The size that a viewer shows, or the fault.

    `header` reads the header and the end of the file, and decodes only if the end is missing; `full` always decodes.
    """
    from PIL import Image, UnidentifiedImageError

    from tellapart.images.orientation import upright_size

    try:
        size = path.stat().st_size
        if size == 0:
            return Checked(kind="not an image", fault="the file is empty")
        with open_photo(path, path.suffix) as image:
            width, height = upright_size(image)
            if check == "full" or not _has_end_marker(path, image.format or "", size):
                with BUDGET.decoding(*image.size):
                    image.load()
    except FileNotFoundError:
        return Checked(kind="missing image", fault="the file does not exist")
    except UnidentifiedImageError:
        return Checked(kind="not an image", fault="its format is not recognised")
    except Image.DecompressionBombError:
        return Checked(kind="not an image", fault="it is too large to open safely")
    except Exception as error:  # a decoder may raise anything for a broken file, and it concerns this file only
        return Checked(kind="truncated image", fault=f"it cannot be decoded ({error})")
    return Checked(width, height)


def _has_end_marker(path: Path, form: str, size: int) -> bool:
    """Whether the file has the end marker of its format. False means unknown: decode it to decide."""
    with path.open("rb") as file:
        if form == "WEBP":
            header = file.read(12)
            return size >= int.from_bytes(header[4:8], "little") + 8
        file.seek(max(0, size - 512))
        tail = file.read()
    if form in ("JPEG", "MPO"):
        return b"\xff\xd9" in tail
    if form == "PNG":
        return b"IEND" in tail
    if form == "GIF":
        return tail.rstrip(b"\0").endswith(b";")
    return False


def check_images(paths: Sequence[Path], check: Check, advance: Advance = lambda count: None) -> list[Checked]:
    """`check_image` of many files in parallel, in order; `advance(1)` is called after each."""
    image_suffixes()  # registers plugins: an index may hold HEIC

    def checked(path: Path) -> Checked:
        result = check_image(path, check)
        advance(1)
        return result

    with ThreadPoolExecutor(max_workers=min(8, 2 * (os.cpu_count() or 1))) as pool:
        return list(pool.map(checked, paths))
