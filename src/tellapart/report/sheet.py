"""Search results as one sheet of thumbnails: a PNG, or a self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_path, write_text
from tellapart.images.indexed_file import indexed_file
from tellapart.images.opening import UnreadableImage
from tellapart.images.reading import read_image
from tellapart.report.page import figure, page, row
from tellapart.search.query import Found

ACROSS, SIDE, GAP, LINES = 5, 200, 12, 3
LETTERS = 32
"""Letters per line below a thumbnail."""


def write_sheet(found: Sequence[Found], asked: str, out: Path) -> None:
    """Write the sheet in the format of its suffix. Photos that are missing or unreadable are skipped."""
    writers = {".png": _png, ".html": _html}
    if out.suffix.lower() not in writers:
        raise InputError(f"A sheet is .png or .html; {out.name} is neither.")
    writers[out.suffix.lower()](found, asked, out)


def _photo(one: Found, short: int) -> Image.Image | None:
    """The photo upright, of at least `short` pixels a side where it has them; None if it cannot be read."""
    file = indexed_file(one.path, one.folder)
    try:
        return None if file is None else Image.fromarray(read_image(file, short))
    except UnreadableImage:
        return None


def _html(found: Sequence[Found], asked: str, out: Path) -> None:
    figures = []
    for one in found:
        photo = _photo(one, 2 * SIDE)
        if photo is not None:
            figures.append(figure(photo, f"{Path(one.path).name} ({one.score:.2f}): {one.caption or ''}"))
    write_text(out, page(asked, f"{len(figures)} photos, best first", [("Found", row(figures))]))


def _png(found: Sequence[Found], asked: str, out: Path) -> None:
    import textwrap

    from PIL import ImageDraw, ImageFont

    tiles = []
    for one in found:
        photo = _photo(one, SIDE)
        if photo is not None:
            photo.thumbnail((SIDE, SIDE))
            tiles.append((photo, textwrap.wrap(one.caption or Path(one.path).name, LETTERS)[:LINES]))
    font = ImageFont.load_default(12)
    tall = SIDE + LINES * 15 + GAP
    down = -(-len(tiles) // ACROSS)
    sheet = Image.new("RGB", (ACROSS * (SIDE + GAP) + GAP, 40 + max(1, down) * tall), "white")
    draw = ImageDraw.Draw(sheet)
    draw.text((GAP, GAP), asked, fill="black", font=ImageFont.load_default(16))
    for place, (photo, lines) in enumerate(tiles):
        left, top = GAP + place % ACROSS * (SIDE + GAP), 40 + place // ACROSS * tall
        sheet.paste(photo, (left + (SIDE - photo.width) // 2, top + (SIDE - photo.height) // 2))
        draw.text((left, top + SIDE + 3), "\n".join(lines), fill="black", font=font)
    with atomic_path(out) as partial:
        sheet.save(partial, "PNG")
