"""An opened image as a viewer shows it: rotated upright as its EXIF orientation says, in 8-bit RGB."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

ORIENTATION = 0x0112
"""The EXIF tag of the orientation; values 5 to 8 swap width and height."""
TURNS = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}
"""What turns an image upright, by its orientation: names in Pillow's `Transpose`."""
SIXTEEN_BITS = ("I;16", "I;16B", "I;16L", "I;16N")
"""Modes of 16-bit grey images (scans, X-rays), which Pillow would clip at 255 and so turn white."""
WIDENED = ("PPM", "PNG")
"""Formats whose 16-bit grey images Pillow opens as 32-bit (PNG in older releases)."""


def upright(opened: Image.Image, reduced: int = 1) -> Image.Image:
    """The image upright in RGB. It may be the opened image itself: copy it to use it after its file is closed.

    reduced: each square of so many pixels a side becomes one, their mean.
    """
    turn = TURNS.get(opened.getexif().get(ORIENTATION, 1))
    if opened.mode in SIXTEEN_BITS or (opened.mode == "I" and opened.format in WIDENED):
        grey = opened.convert("I").point(lambda value: value * (1 / 257))
        image = grey.convert("L").convert("RGB")
    else:
        image = opened if opened.mode == "RGB" else opened.convert("RGB")
    if reduced > 1:
        image = image.reduce(reduced)
    if turn is None:
        return image
    from PIL.Image import Transpose

    return image.transpose(Transpose[turn])


def upright_size(opened: Image.Image) -> tuple[int, int]:
    """Width and height of `upright`, without decoding."""
    width, height = opened.size
    return (height, width) if opened.getexif().get(ORIENTATION, 1) in (5, 6, 7, 8) else (width, height)
