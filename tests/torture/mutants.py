"""Seeded damage: one to four edits of a file's bytes, drawn from ten kinds."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Sequence

from mutations import VALUES

LIMITS = (0, 1, -1, 2, 127, 128, 255, 256, 32767, 65535, 65536, 1 << 24, (1 << 31) - 1, -(1 << 31), (1 << 32) - 1)
"""Numbers at which sizes and offsets go wrong."""
NUMBERS = (
    b"0",
    b"-1",
    b"1",
    b"99999999999999999999",
    b"4294967296",
    b"1e308",
    b"nan",
    b"0.5",
    b"2147483648",
    b"9" * 40,
)
TEXTS = (
    *VALUES,
    b"\x00",
    b"\xff\xfe",
    b"\r\n\r\n",
    b'"',
    b",",
    b"\t",
    b"\\",
    "é\u202e".encode(),
    b"../../x",
    b"\xed\xa0\x80",
)
HEAD = 256

Edit = Callable[[bytes, random.Random], bytes]


def mutated(data: bytes, draw: random.Random, others: Sequence[bytes] = ()) -> bytes:
    """Damaged bytes. `others` are files of the same kind, of which pieces may be copied."""
    for _ in range(draw.choice((1, 1, 1, 2, 3, 4))):
        edit = draw.choice(EDITS)
        data = _spliced(data, draw.choice(others), draw) if others and draw.random() < 0.08 else edit(data, draw)
    return data


def _place(data: bytes, draw: random.Random) -> int:
    """A place in the data, as often in its head, where most formats say how large things are."""
    most = max(1, len(data))
    return draw.randrange(min(most, HEAD)) if draw.random() < 0.5 else draw.randrange(most)


def _flipped(data: bytes, draw: random.Random) -> bytes:
    place = _place(data, draw)
    return data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :] if data else b"\x00"


def _replaced(data: bytes, draw: random.Random) -> bytes:
    place, size = _place(data, draw), draw.choice((1, 1, 2, 4, 16))
    return data[:place] + draw.randbytes(size) + data[place + size :]


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: _place(data, draw)]


def _removed(data: bytes, draw: random.Random) -> bytes:
    place = _place(data, draw)
    return data[:place] + data[place + draw.choice((1, 2, 4, 8, 64, 512)) :]


def _repeated(data: bytes, draw: random.Random) -> bytes:
    place, size = _place(data, draw), draw.choice((1, 4, 16, 128))
    return data[:place] + data[place : place + size] * draw.choice((2, 3, 50)) + data[place + size :]


def _swapped(data: bytes, draw: random.Random) -> bytes:
    first, second, size = _place(data, draw), _place(data, draw), draw.choice((2, 8, 32))
    one, other = data[first : first + size], data[second : second + size]
    whole = bytearray(data)
    whole[first : first + size], whole[second : second + size] = other, one
    return bytes(whole)


def _with_limit(data: bytes, draw: random.Random) -> bytes:
    """A binary number of 2, 4 or 8 bytes set to one at which sizes go wrong."""
    place, code = _place(data, draw), draw.choice("HIQ")
    size = struct.calcsize(code)
    number = draw.choice(LIMITS) & ((1 << 8 * size) - 1)
    return data[:place] + struct.pack(draw.choice("<>") + code, number) + data[place + size :]


def _with_number(data: bytes, draw: random.Random) -> bytes:
    """A number in digits replaced by another."""
    found = list(re.finditer(rb"-?\d+(?:\.\d+)?", data[: 1 << 16]))
    if not found:
        return _with_limit(data, draw)
    one = draw.choice(found)
    return data[: one.start()] + draw.choice(NUMBERS) + data[one.end() :]


def _with_text(data: bytes, draw: random.Random) -> bytes:
    """A value of JSON, or any place, replaced by a text that is no valid value there."""
    values = list(re.finditer(rb'[:,\[]\s*("[^"]*"|[\w.+-]+|\[|\{)', data[: 1 << 16]))
    if values and draw.random() < 0.7:
        one = draw.choice(values)
        return data[: one.start(1)] + draw.choice(TEXTS) + data[one.end(1) :]
    place = _place(data, draw)
    return data[:place] + draw.choice(TEXTS) + data[place:]


def _emptied(data: bytes, draw: random.Random) -> bytes:
    """Zeros in place of a piece, as after a crash of some file systems."""
    place, size = _place(data, draw), draw.choice((4, 64, 4096))
    return data[:place] + bytes(len(data[place : place + size])) + data[place + size :]


def _spliced(data: bytes, other: bytes, draw: random.Random) -> bytes:
    return data[: _place(data, draw)] + other[_place(other, draw) :]


EDITS: tuple[Edit, ...] = (
    _flipped, _flipped, _replaced, _cut, _removed, _repeated, _swapped, _with_limit, _with_limit, _with_number,
    _with_text, _emptied,
)  # fmt: skip
