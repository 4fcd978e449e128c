"""The caption in an IPTC block (IIM 4, dataset 2:120): read, and replaced without change to other datasets."""

from __future__ import annotations

from collections.abc import Iterator

from tellapart.images.metadata.text import clean_text

MARK = 0x1C
CHARACTER_SET, CAPTION = (1, 90), (2, 120)
UTF8 = b"\x1b%G"
"""The value of 1:90 that declares UTF-8."""
MOST_BYTES = 2000
"""Of a caption in UTF-8: the limit of the standard."""
EXTENDED = 0x8000


def datasets(block: bytes) -> Iterator[tuple[int, int, bytes, bytes]]:
    """Record, number, value and all bytes of each dataset, up to the first that is broken."""
    place = 0
    while place + 5 <= len(block) and block[place] == MARK:
        start, size = place + 5, int.from_bytes(block[place + 3 : place + 5], "big")
        if size & EXTENDED:  # the size itself has so many bytes
            wide = size & ~EXTENDED
            if wide > 4:
                return
            size = int.from_bytes(block[start : start + wide], "big")
            start += wide
        if start + size > len(block):
            return
        yield block[place + 1], block[place + 2], block[start : start + size], block[place : start + size]
        place = start + size


def iptc_caption(block: bytes) -> str | None:
    """The caption of a block; None if it has none. A text that is not UTF-8 is read as Latin-1."""
    caption = next((value for record, number, value, _ in datasets(block) if (record, number) == CAPTION), None)
    if caption is None:
        return None
    try:
        return clean_text(caption.decode("utf-8"))
    except UnicodeDecodeError:
        return clean_text(caption.decode("latin-1"))


def declares_utf8(block: bytes) -> bool:
    """Whether a block says that its texts are UTF-8."""
    return any((record, number, value) == (*CHARACTER_SET, UTF8) for record, number, value, _ in datasets(block))


def with_iptc_caption(block: bytes, caption: str) -> bytes:
    """The block with another caption. All other datasets keep their bytes and order."""
    text = cut_utf8(caption, MOST_BYTES)
    encoding = "utf-8"
    if not declares_utf8(block) and block:  # other texts of the block have another encoding, which must stay
        encoding = "latin-1"
    try:
        value = text.encode(encoding)
    except UnicodeEncodeError:
        value = text.encode("utf-8")
    new = _dataset(CAPTION, value)
    pieces: list[bytes] = [] if block else [_dataset(CHARACTER_SET, UTF8)]
    kept, written = 0, False
    for record, number, _, whole in datasets(block):
        kept += len(whole)
        if (record, number) == CAPTION:
            if written:
                continue
            whole = new
        elif not written and (record, number) > CAPTION:
            pieces.append(new)
            written = True
        written = written or whole is new
        pieces.append(whole)
    if not written:
        pieces.append(new)
    return b"".join(pieces) + block[kept:]


def cut_utf8(text: str, most: int) -> str:
    """The text without the letters beyond so many bytes of UTF-8.

    >>> cut_utf8("aé", 2), cut_utf8("aé", 3)
    ('a', 'aé')
    """
    return text.encode("utf-8")[:most].decode("utf-8", "ignore")


def _dataset(name: tuple[int, int], value: bytes) -> bytes:
    return bytes((MARK, *name)) + len(value).to_bytes(2, "big") + value
