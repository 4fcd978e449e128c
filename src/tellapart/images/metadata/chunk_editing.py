"""The XMP chunks of PNG and WebP files, replaced; all other chunks stay as they are."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from tellapart.images.metadata.tiff_tags import UnknownStructure
from tellapart.images.metadata.xmp_editing import with_description

PNG = b"\x89PNG\r\n\x1a\n"
PNG_XMP = b"XML:com.adobe.xmp\0"
WEBP_XMP_FLAG, WEBP_ALPHA_FLAG = 0x04, 0x10


def png_with_description(data: bytes, text: str, *, generated: bool) -> bytes:
    """A PNG file with a description in XMP."""
    if not data.startswith(PNG):
        raise UnknownStructure("it is not a PNG file")
    chunks = list(_png_chunks(data))
    place = next((n for n, (kind, body) in enumerate(chunks) if kind == b"iTXt" and body.startswith(PNG_XMP)), None)
    packet = None if place is None else _png_text(chunks[place][1])
    # no compression, no language, no translated keyword
    chunk = b"iTXt", PNG_XMP + b"\0\0\0\0" + with_description(packet, text, generated=generated)
    if place is None:
        chunks.insert(next(n for n, (kind, _) in enumerate(chunks) if kind == b"IDAT"), chunk)
    else:
        chunks[place] = chunk
    end = len(PNG) + sum(12 + len(body) for _, body in _png_chunks(data))
    return PNG + b"".join(_png_chunk(*one) for one in chunks) + data[end:]


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    place, kind = len(PNG), b""
    while kind != b"IEND":
        size, kind = int.from_bytes(data[place : place + 4], "big"), data[place + 4 : place + 8]
        body = data[place + 8 : place + 8 + size]
        checked = data[place + 8 + size : place + 12 + size]
        if len(body) < size or checked != zlib.crc32(kind + body).to_bytes(4, "big"):
            raise UnknownStructure("a chunk is broken")
        yield kind, body
        place += 12 + size


def _png_chunk(kind: bytes, body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")


def _png_text(body: bytes) -> bytes:
    """The text of an iTXt chunk: keyword, flag and method of compression, language, translated keyword, text."""
    compressed = body[len(PNG_XMP)]
    text = body[len(PNG_XMP) + 2 :].split(b"\0", 2)[2]
    if compressed:
        unpacked = zlib.decompressobj()
        text = unpacked.decompress(text, 1 << 20)
        if unpacked.unconsumed_tail:
            raise UnknownStructure("its XMP is too large")
    return text


def webp_with_description(data: bytes, text: str, *, generated: bool) -> bytes:
    """A WebP file with a description in XMP. A simple file gets the header that metadata need."""
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        raise UnknownStructure("it is not a WebP file")
    end = 8 + int.from_bytes(data[4:8], "little")
    chunks = list(_webp_chunks(data[12:end]))
    if not chunks or chunks[0][0] not in (b"VP8X", b"VP8 ", b"VP8L"):
        raise UnknownStructure("its first chunk is unknown")
    if chunks[0][0] != b"VP8X":
        chunks.insert(0, (b"VP8X", _webp_header(*chunks[0])))
    flags = chunks[0][1][0] | WEBP_XMP_FLAG
    chunks[0] = b"VP8X", bytes((flags,)) + chunks[0][1][1:]
    place = next((n for n, (kind, _) in enumerate(chunks) if kind == b"XMP "), len(chunks))
    packet = chunks[place][1] if place < len(chunks) else None
    chunks[place : place + 1] = [(b"XMP ", with_description(packet, text, generated=generated))]
    body = b"WEBP" + b"".join(_webp_chunk(*one) for one in chunks)
    return b"RIFF" + len(body).to_bytes(4, "little") + body + data[end + end % 2 :]


def _webp_chunks(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = 0
    while place + 8 <= len(body):
        size = int.from_bytes(body[place + 4 : place + 8], "little")
        if place + 8 + size > len(body):
            raise UnknownStructure("a chunk is broken")
        yield body[place : place + 4], body[place + 8 : place + 8 + size]
        place += 8 + size + size % 2


def _webp_chunk(kind: bytes, body: bytes) -> bytes:
    return kind + len(body).to_bytes(4, "little") + body + b"\0" * (len(body) % 2)


def _webp_header(kind: bytes, body: bytes) -> bytes:
    """The extended header of a simple file: flags, three bytes reserved, width - 1 and height - 1 in three bytes."""
    if kind == b"VP8L":
        bits = int.from_bytes(body[1:5], "little")
        width, height, alpha = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1, bool(bits >> 28 & 1)
    else:
        width = int.from_bytes(body[6:8], "little") & 0x3FFF
        height = int.from_bytes(body[8:10], "little") & 0x3FFF
        alpha = False
    flags = WEBP_ALPHA_FLAG if alpha else 0
    return bytes((flags, 0, 0, 0)) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
