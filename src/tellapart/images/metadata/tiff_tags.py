"""Texts in a TIFF structure (a TIFF file, or the EXIF block of another file), replaced without moving a byte.

New values and, where a tag is new, a copy of the first directory are appended; then the directory's entry or the
header points to them. Everything else stays where it was, so that offsets inside makers' notes stay true.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

ASCII, BYTE, LARGEST_OFFSET = 2, 1, 0xFFFFFFFF
ENTRY = 12
MOST_ENTRIES = 4096


class UnknownStructure(ValueError):
    """A structure that cannot be edited safely."""


def new_block() -> bytes:
    """An EXIF block without entries."""
    return b"II*\0" + struct.pack("<IHI", 8, 0, 0)


def with_tags(block: bytes, values: Mapping[int, tuple[int, bytes]]) -> bytes:
    """The structure with other values, {tag: (type, bytes)}; UnknownStructure if it is none, or is BigTIFF."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(block[:4])
    if order is None:
        raise UnknownStructure("it is not a TIFF structure")
    (start,) = struct.unpack_from(f"{order}I", block, 4)
    entries, following = _directory(block, start, order)
    changed = bytearray(block)
    places = {tag: start + 2 + ENTRY * number for number, (tag, _) in enumerate(entries)}
    new: list[tuple[int, bytes]] = []
    for tag, (kind, value) in sorted(values.items()):
        entry = struct.pack(f"{order}HHI", tag, kind, len(value)) + _placed(changed, value, order)
        if tag in places:
            changed[places[tag] : places[tag] + ENTRY] = entry
        else:
            new.append((tag, entry))
    if new:
        again = [(tag, bytes(changed[place : place + ENTRY])) for tag, place in places.items()]
        _align(changed)
        struct.pack_into(f"{order}I", changed, 4, len(changed))
        both = sorted([*again, *new])
        changed += struct.pack(f"{order}H", len(both)) + b"".join(entry for _, entry in both) + following
    if len(changed) > LARGEST_OFFSET:
        raise UnknownStructure("it has more than 4 GB")
    return bytes(changed)


def _directory(block: bytes, start: int, order: str) -> tuple[list[tuple[int, bytes]], bytes]:
    """The entries of the first directory, and the pointer to the second."""
    if not 8 <= start <= len(block) - 2:
        raise UnknownStructure("its directory is missing")
    (count,) = struct.unpack_from(f"{order}H", block, start)
    end = start + 2 + ENTRY * count
    if count > MOST_ENTRIES or end + 4 > len(block):
        raise UnknownStructure("its directory is broken")
    entries = [block[place : place + ENTRY] for place in range(start + 2, end, ENTRY)]
    tags = [struct.unpack_from(f"{order}H", entry)[0] for entry in entries]
    if len(set(tags)) != len(tags):
        raise UnknownStructure("its directory has a tag twice")
    return list(zip(tags, entries)), block[end : end + 4]


def _placed(block: bytearray, value: bytes, order: str) -> bytes:
    """The value itself if it fits into four bytes; otherwise it is appended, and this is where."""
    if len(value) <= 4:
        return value.ljust(4, b"\0")
    _align(block)
    place = len(block)
    block += value
    return struct.pack(f"{order}I", place)


def _align(block: bytearray) -> None:
    block += b"\0" * (len(block) % 2)
