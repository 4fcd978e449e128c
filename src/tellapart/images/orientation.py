"""An opened image as a viewer shows it: turned upright as its EXIF orientation says, in eight bits of RGB."""

from __future__ import annotations

from PIL import Image

ORIENTATION = 0x0112
"""The EXIF tag that says how a camera was held; values 5 to 8 lie on their side."""
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
SIXTEEN_BITS = ("I;16", "I;16B", "I;16L", "I;16N")
"""Grey images (scans, X-rays) that Pillow itself would cut off at 255, so that they turn white."""
WIDENED = ("PPM", "PNG")
"""Formats whose grey images of sixteen bits Pillow keeps in 32 (PNG in older releases)."""


def upright(opened: Image.Image) -> Image.Image:
    """Where nothing is to be done this is the opened image itself: copy what is to outlive its file."""
    turn = TURNS.get(opened.getexif().get(ORIENTATION, 1))
    if opened.mode in SIXTEEN_BITS or (opened.mode == "I" and opened.format in WIDENED):
        grey = opened.convert("I").point(lambda value: value * (1 / 257))
        image = grey.convert("L").convert("RGB")
    else:
        image = opened if opened.mode == "RGB" else opened.convert("RGB")
    return image if turn is None else image.transpose(turn)


def upright_size(opened: Image.Image) -> tuple[int, int]:
    """Width and height of `upright`, without decoding."""
    width, height = opened.size
    return (height, width) if opened.getexif().get(ORIENTATION, 1) in (5, 6, 7, 8) else (width, height)
