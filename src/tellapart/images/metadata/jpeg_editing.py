"""The metadata segments of a JPEG file, replaced; all other segments and the pixels stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tellapart.images.metadata.iptc import with_iptc_caption
from tellapart.images.metadata.tiff_tags import ASCII, UnknownStructure, new_block, with_tags
from tellapart.images.metadata.xmp_editing import with_description

APP0, APP1, APP2, APP13, START_OF_SCAN = 0xE0, 0xE1, 0xE2, 0xED, 0xDA
EXIF, XMP, PHOTOSHOP, SEVERAL_IMAGES = b"Exif\0\0", b"http://ns.adobe.com/xap/1.0/\0", b"Photoshop 3.0\0", b"MPF\0"
LARGEST = 65_533
"""Bytes that a segment holds."""
DESCRIPTION = 0x010E
RESOURCE, IPTC = b"8BIM", b"\x04\x04"


@dataclass
class Segment:
    """A segment of the header: its marker and its content."""

    marker: int
    content: bytes

    def written(self) -> bytes:
        """The segment as it stands in a file."""
        return bytes((0xFF, self.marker)) + (len(self.content) + 2).to_bytes(2, "big") + self.content


def jpeg_with_description(data: bytes, text: str, *, generated: bool) -> bytes:
    """The file with a description in XMP, IPTC and EXIF; UnknownStructure if its header is unusual."""
    segments, rest = header(data)
    several = next((n for n, one in enumerate(segments) if _is(one, APP2, SEVERAL_IMAGES)), len(segments))
    before = [one.content for one in segments]
    edits: tuple[tuple[int, bytes, Callable[[bytes | None], bytes]], ...] = (
        (APP1, EXIF, lambda block: _with_exif(block, text)),
        (APP1, XMP, lambda packet: with_description(packet, text, generated=generated)),
        (APP13, PHOTOSHOP, lambda resources: _with_iptc(resources or b"", text)),
    )
    for marker, name, edit in edits:
        _edit(segments, marker, name, edit)
    if several < len(before) and any(
        one.content != old for one, old in zip(segments[-(len(before) - several) :], before[several:])
    ):
        raise UnknownStructure("it holds several images, whose places would change")
    return b"\xff\xd8" + b"".join(one.written() for one in segments) + rest


def header(data: bytes) -> tuple[list[Segment], bytes]:
    """The segments before the first that describes pixels, and all that follows."""
    if data[:2] != b"\xff\xd8":
        raise UnknownStructure("it is not a JPEG file")
    segments: list[Segment] = []
    place = 2
    while (
        place + 4 <= len(data) and data[place] == 0xFF and (0xE0 <= data[place + 1] <= 0xEF or data[place + 1] == 0xFE)
    ):
        size = int.from_bytes(data[place + 2 : place + 4], "big")
        if size < 2 or place + 2 + size > len(data):
            raise UnknownStructure("its header is broken")
        segments.append(Segment(data[place + 1], data[place + 4 : place + 2 + size]))
        place += 2 + size
    return segments, data[place:]


def _is(segment: Segment, marker: int, name: bytes) -> bool:
    return segment.marker == marker and segment.content.startswith(name)


def _edit(segments: list[Segment], marker: int, name: bytes, edit: Callable[[bytes | None], bytes]) -> None:
    """Replace the content of a segment, or add one after those that come first in a file."""
    found = next((one for one in segments if _is(one, marker, name)), None)
    content = name + edit(None if found is None else found.content[len(name) :])
    if len(content) > LARGEST:
        raise UnknownStructure("its metadata fill a segment already")
    if found is not None:
        found.content = content
        return
    first = {APP0} if name == EXIF else {APP0, APP1}
    place = next((n for n, one in enumerate(segments) if one.marker not in first), len(segments))
    segments.insert(place, Segment(marker, content))


def _with_exif(block: bytes | None, text: str) -> bytes:
    return with_tags(block or new_block(), {DESCRIPTION: (ASCII, text.encode() + b"\0")})


def _with_iptc(resources: bytes, text: str) -> bytes:
    """Photoshop's resources with another caption in their IPTC block; the others keep their bytes."""
    place, before = 0, len(resources)
    while place + 12 <= len(resources) and resources[place : place + 4] == RESOURCE:
        name_end = place + 6 + (resources[place + 6] + 2) // 2 * 2
        size = int.from_bytes(resources[name_end : name_end + 4], "big")
        end = name_end + 4 + size
        if end > len(resources):
            raise UnknownStructure("its Photoshop resources are broken")
        if resources[place + 4 : place + 6] == IPTC:
            block = with_iptc_caption(resources[name_end + 4 : end], text)
            after = resources[end + size % 2 :]
            return resources[:name_end] + _sized(block) + after
        place = end + size % 2
    return resources[:before] + RESOURCE + IPTC + b"\0\0" + _sized(with_iptc_caption(b"", text))


def _sized(block: bytes) -> bytes:
    return len(block).to_bytes(4, "big") + block + b"\0" * (len(block) % 2)
