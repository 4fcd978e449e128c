"""A raw photo made by hand: a DNG file with a JPEG preview of any image, and a sensor of random values."""

from __future__ import annotations

import io
import struct

import numpy as np
from PIL import Image

SIZES = {"B": 1, "A": 1, "S": 2, "L": 4, "R": 8, "s": 8}
KINDS = {"B": 1, "A": 2, "S": 3, "L": 4, "R": 5, "s": 10}


def dng(preview: Image.Image, camera: tuple[str, str] = ("Tella", "Part 1"), orientation: int = 1) -> bytes:
    """The bytes of a DNG file."""
    file = io.BytesIO()
    preview.save(file, "JPEG", quality=95)
    jpeg = file.getvalue()
    width, height = 128, 96
    sensor = np.random.default_rng(0).integers(200, 4000, (height, width)).astype("<u2").tobytes()
    start = 8
    jpeg_at, sensor_at = start, start + len(jpeg) + len(jpeg) % 2
    raw_at = sensor_at + len(sensor)
    raw = _ifd(raw_at, [
        (254, "L", (0,)), (256, "L", (width,)), (257, "L", (height,)), (258, "S", (16,)), (259, "S", (1,)),
        (262, "S", (32803,)), (273, "L", (sensor_at,)), (277, "S", (1,)), (278, "L", (height,)),
        (279, "L", (len(sensor),)), (33421, "S", (2, 2)), (33422, "B", (0, 1, 1, 2)), (50717, "L", (4095,)),
    ])  # fmt: skip
    first_at = raw_at + len(raw)
    matrix = tuple(value for one in np.eye(3).ravel() for value in (int(one), 1))
    first = _ifd(first_at, [
        (254, "L", (1,)), (256, "L", (preview.width,)), (257, "L", (preview.height,)), (258, "S", (8, 8, 8)),
        (259, "S", (7,)), (262, "S", (6,)), (271, "A", camera[0]), (272, "A", camera[1]), (273, "L", (jpeg_at,)),
        (274, "S", (orientation,)), (277, "S", (3,)), (278, "L", (preview.height,)), (279, "L", (len(jpeg),)),
        (306, "A", "2019:07:21 18:04:33"), (330, "L", (raw_at,)), (50706, "B", (1, 4, 0, 0)),
        (50708, "A", " ".join(camera)), (50721, "s", matrix), (50728, "R", (1, 1, 1, 1, 1, 1)), (50778, "S", (21,)),
    ])  # fmt: skip
    header = b"II" + struct.pack("<HI", 42, first_at)
    return header + jpeg + b"\0" * (len(jpeg) % 2) + sensor + raw + first


def _ifd(at: int, entries: list[tuple[int, str, object]]) -> bytes:
    """A directory of TIFF that lies at an offset."""
    after = at + 2 + 12 * len(entries) + 4
    table, extra = struct.pack("<H", len(entries)), b""
    for tag, kind, value in entries:
        if kind == "A":
            data = str(value).encode() + b"\0"
            count = len(data)
        else:
            numbers = tuple(value)  # type: ignore[call-overload]
            letter = {"B": "B", "S": "H", "L": "I", "R": "I", "s": "i"}[kind]
            data = struct.pack(f"<{len(numbers)}{letter}", *numbers)
            count = len(data) // SIZES[kind]
        if len(data) <= 4:
            table += struct.pack("<HHI", tag, KINDS[kind], count) + data.ljust(4, b"\0")
        else:
            table += struct.pack("<HHII", tag, KINDS[kind], count, after + len(extra))
            extra += data + b"\0" * (len(data) % 2)
    return table + struct.pack("<I", 0) + extra
