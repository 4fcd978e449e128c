"""Small images in every format that is read, several of each: modes, compressions, animation, EXIF."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image


def _photo(mode: str = "RGB", size: tuple[int, int] = (40, 24)) -> Image.Image:
    coarse = np.random.default_rng(len(mode)).integers(0, 256, (4, 5, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC).convert(mode)


def _deep() -> Image.Image:
    """A grey image of 16 bits."""
    return Image.fromarray(np.linspace(0, 65535, 40 * 24).reshape(24, 40).astype(np.uint16))


def _exif() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = 6
    exif.get_ifd(0x8769)[0x9003] = "2019:07:21 18:04:33"
    return exif


def _saved(image: Image.Image, form: str, **how: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, form, **how)
    return stream.getvalue()


def _frames() -> dict[str, Any]:
    return {"save_all": True, "append_images": [_photo().rotate(90 * turn) for turn in (1, 2)]}


def image_files() -> dict[str, list[bytes]]:
    """Files by suffix; a format that this Pillow cannot write is left out."""
    made: dict[str, list[bytes]] = {}
    for suffix, variants in VARIANTS.items():
        for mode, form, how in variants:
            image = _deep() if mode == "I;16" else _photo(mode)
            options = {
                **how,
                **(_frames() if how.get("frames") else {}),
                **({"exif": _exif()} if how.get("dated") else {}),
            }
            options = {name: value for name, value in options.items() if name not in ("frames", "dated")}
            try:
                made.setdefault(suffix, []).append(_saved(image, form, **options))
            except (KeyError, OSError, ValueError):
                continue
    return {suffix: files for suffix, files in made.items() if files} | _written_by_hand()


def _written_by_hand() -> dict[str, list[bytes]]:
    """Formats that Pillow reads and does not write: QOI, and the text forms of PPM."""
    pixels = np.asarray(_photo())
    qoi = b"qoif" + (40).to_bytes(4, "big") + (24).to_bytes(4, "big") + b"\x03\x00"
    qoi += b"".join(b"\xfe" + bytes(pixel) for row in pixels for pixel in row) + bytes(7) + b"\x01"
    numbers = " ".join(map(str, pixels.reshape(-1)))
    plain = f"P3\n# made\n40 24\n255\n{numbers}\n".encode()
    return {".qoi": [qoi], ".pnm": [plain, b"P1\n4 2\n0 1 0 1 1 0 1 0\n", b"P2\n2 2\n65535\n0 9 99 999\n"]}


VARIANTS: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
    ".jpg": [
        ("RGB", "JPEG", {"dated": True}), ("L", "JPEG", {}), ("CMYK", "JPEG", {}),
        ("RGB", "JPEG", {"progressive": True, "subsampling": 2}),
    ],
    ".mpo": [("RGB", "MPO", {"frames": True})],
    ".png": [
        ("RGB", "PNG", {"dated": True}), ("P", "PNG", {}), ("RGBA", "PNG", {}), ("1", "PNG", {}), ("I;16", "PNG", {}),
    ],
    ".apng": [("RGB", "PNG", {"frames": True})],
    ".webp": [
        ("RGB", "WEBP", {"dated": True}), ("RGBA", "WEBP", {"lossless": True}), ("RGB", "WEBP", {"frames": True}),
    ],
    ".gif": [("P", "GIF", {}), ("RGB", "GIF", {"frames": True})],
    ".bmp": [("RGB", "BMP", {}), ("P", "BMP", {}), ("1", "BMP", {}), ("RGBA", "BMP", {})],
    ".dib": [("RGB", "DIB", {})],
    ".tif": [
        ("RGB", "TIFF", {"dated": True}), ("RGB", "TIFF", {"compression": "tiff_lzw"}), ("I;16", "TIFF", {}),
        ("RGB", "TIFF", {"compression": "tiff_adobe_deflate"}), ("RGB", "TIFF", {"compression": "jpeg"}),
        ("1", "TIFF", {"compression": "group4"}), ("L", "TIFF", {"compression": "packbits"}),
    ],
    ".ppm": [("RGB", "PPM", {})],
    ".pgm": [("L", "PPM", {}), ("I;16", "PPM", {})],
    ".pbm": [("1", "PPM", {})],
    ".tga": [("RGB", "TGA", {}), ("RGBA", "TGA", {"compression": "tga_rle"}), ("P", "TGA", {})],
    ".jp2": [("RGB", "JPEG2000", {}), ("L", "JPEG2000", {"irreversible": True})],
    ".j2k": [("RGB", "JPEG2000", {"no_jp2": True})],
    ".avif": [("RGB", "AVIF", {"dated": True, "speed": 10}), ("RGBA", "AVIF", {"speed": 10})],
    ".heic": [("RGB", "HEIF", {})],
}  # fmt: skip
"""Suffix -> (mode, Pillow's name of the format, options). `frames`: animated. `dated`: with EXIF."""
