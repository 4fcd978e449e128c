"""Seeded damage to files: cut short, bytes changed, pieces removed or repeated, words of JSON replaced."""

from __future__ import annotations

import random
from pathlib import Path

VALUES = (b"null", b"[]", b"{}", b"-1", b'"\\ud800"', b"9" * 5001, b"1e999", b'"x"', b"true", b"[" * 3000)


def mutated(data: bytes, seed: int) -> bytes:
    """Damaged bytes, the same for the same seed."""
    draw = random.Random(seed)
    kind = draw.randrange(6)
    place = draw.randrange(max(1, len(data)))
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + bytes([draw.randrange(256)]) + data[place + 1 :]
    if kind == 2:
        return data[:place] + data[place + draw.randrange(1, 9) :]
    if kind == 3:
        return data[:place] + data[max(0, place - 8) :]
    if kind == 4:
        return bytes(draw.randrange(256) for _ in range(64)) + data[64:]
    return _with_value(data, draw)


def _with_value(data: bytes, draw: random.Random) -> bytes:
    """A JSON text with one value replaced; other bytes with one piece replaced."""
    colons = [place for place, byte in enumerate(data) if byte == ord(":")]
    if not colons:
        return data[: len(data) // 2] + draw.choice(VALUES) + data[len(data) // 2 :]
    start = draw.choice(colons) + 1
    ends = [end for end in (data.find(mark, start) for mark in (b",", b"}", b"\n")) if end >= 0]
    return data[:start] + draw.choice(VALUES) + data[min(ends, default=len(data)) :]


def damage(path: Path, original: bytes, seed: int) -> None:
    """Write damaged bytes of a file in its place; a new file, so that mapped memory of the old one stays whole."""
    path.unlink(missing_ok=True)
    path.write_bytes(mutated(original, seed))
