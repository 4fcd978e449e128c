"""Messages in protobuf's format, read without its package: fields by their numbers.

A message is a row of fields: a key (the field's number and its type), then a value. Every size is checked against what
is left, and every fault is a ValueError.
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT, EIGHT_BYTES, SIZED, FOUR_BYTES = 0, 1, 2, 5
"""Types of fields."""

Message = dict[int, list[int | bytes]]
"""The values of a message by the number of their field; numbers of four or eight bytes are left as bytes."""


def message(data: bytes) -> Message:
    """The fields of a message.

    >>> message(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69]))
    {1: [150], 2: [b'hi']}
    """
    fields: Message = {}
    for field, value in _fields(data):
        fields.setdefault(field, []).append(value)
    return fields


def messages(given: Message, field: int) -> list[Message]:
    """The messages in a field that may occur often or never."""
    return [message(_sized(value)) for value in given.get(field, [])]


def inner(given: Message, field: int) -> Message:
    """The message in a field."""
    return message(_sized(_last(given, field)))


def text(given: Message, field: int) -> str:
    """The text in a field."""
    return decoded(_last(given, field))


def number(given: Message, field: int) -> int:
    """The number in a field."""
    value = _last(given, field)
    if not isinstance(value, int):
        raise ValueError(f"field {field} is not a number")
    return value


def decoded(value: int | bytes) -> str:
    """A value as text."""
    return _sized(value).decode("utf-8")


def part(data: bytes, position: int, count: int) -> tuple[bytes, int]:
    """So many bytes from a position, and where they end."""
    if count > len(data) - position:
        raise ValueError(f"it ends {count - (len(data) - position)} bytes early")
    return data[position : position + count], position + count


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        field, kind = key >> 3, key & 7
        value: int | bytes
        if kind == VARINT:
            value, position = _varint(data, position)
        elif kind == SIZED:
            size, position = _varint(data, position)
            value, position = part(data, position, size)
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            value, position = part(data, position, 8 if kind == EIGHT_BYTES else 4)
        else:
            raise ValueError(f"a field of the unknown type {kind}")
        yield field, value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """A number in groups of seven bits, the lowest first; the highest bit says whether another group follows."""
    value = 0
    for shift in range(0, 70, 7):
        group, position = part(data, position, 1)
        value |= (group[0] & 127) << shift
        if group[0] < 128:
            return value, position
    raise ValueError("a number of more than ten bytes")


def _last(given: Message, field: int) -> int | bytes:
    if field not in given:
        raise ValueError(f"field {field} is missing")
    return given[field][-1]


def _sized(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a number where text or a message belongs")
    return value
