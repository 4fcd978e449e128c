"""Groups of look-alikes with their captions as one sheet of images, to be judged by eye."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_path
from tellapart.images.opening import open_image

SIDE, GAP, LINE, LINES = 224, 10, 15, 5
LETTERS = 34
"""Letters per line below an image."""


@dataclass(frozen=True)
class Shown:
    """One image of the sheet."""

    file: Path
    label: str
    lines: tuple[str, ...]
    """Captions below it, one paragraph each."""


def look_alike_groups(similar: np.ndarray, count: int, size: int = 4) -> list[list[int]]:
    """`count` groups of `size` images: the next image that is in no group yet, and its nearest that are in none.

    similar [I, k]: the look-alikes of each image, nearest first.

    >>> look_alike_groups(np.array([[1, 2], [0, 2], [3, 0], [2, 1]]), count=2, size=2)
    [[0, 1], [2, 3]]
    """
    used: set[int] = set()
    groups: list[list[int]] = []
    for image, row in enumerate(similar.tolist()):
        free = [other for other in row if other not in used][: size - 1]
        if len(groups) == count:
            break
        if image in used or len(free) < size - 1:
            continue
        groups.append([image, *free])
        used.update(groups[-1])
    if len(groups) < count:
        raise InputError(f"Only {len(groups)} of {count} groups of {size} look-alikes were found; give more images.")
    return groups


def write_look_alike_sheet(groups: Sequence[Sequence[Shown]], out: Path) -> None:
    """Write a PNG with one line of images per group."""
    if out.suffix.lower() != ".png":
        raise InputError(f"The sheet is a .png file; {out.name} is not.")
    across = max(map(len, groups))
    tall = SIDE + LINES * LINE + GAP
    sheet = Image.new("RGB", (across * (SIDE + GAP) + GAP, len(groups) * tall + GAP), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(12)
    for down, group in enumerate(groups):
        for place, one in enumerate(group):
            left, top = GAP + place * (SIDE + GAP), GAP + down * tall
            sheet.paste(open_image(one.file).convert("RGB").resize((SIDE, SIDE)), (left, top))
            wrapped = [f"[{one.label}]", *(part for line in one.lines for part in textwrap.wrap(line, LETTERS))]
            for number, part in enumerate(wrapped[:LINES]):
                draw.text((left, top + SIDE + number * LINE), part, fill="black", font=font)
    with atomic_path(out) as partial:
        sheet.save(partial, "PNG")
