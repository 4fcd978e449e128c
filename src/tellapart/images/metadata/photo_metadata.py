"""All that is read from the metadata of a photo, with what people wrote before what cameras wrote.

A description is taken from the first of these that has one: a sidecar (dog.jpg.xmp, then dog.xmp), XMP in the photo
(dc:description, then the alt text of IPTC Core), the caption of IPTC, the description of EXIF, and the text
"Description" of PNG.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tellapart.images.metadata.exif import ExifFacts, exif_facts
from tellapart.images.metadata.iptc import iptc_caption
from tellapart.images.metadata.text import clean_text, written_by_people
from tellapart.images.metadata.xmp import ALT_TEXT, DESCRIPTION, GENERATED, LARGEST, Xmp, texts_in

if TYPE_CHECKING:
    from PIL import Image

IPTC_RESOURCE = 0x0404
"""Photoshop's number of the IPTC block."""
TIFF_XMP, TIFF_IPTC = 700, 33723
PNG_TEXT = "Description"
"""Of the texts of PNG; "Comment" is what programs write."""


@dataclass(frozen=True)
class PhotoMetadata:
    """Facts and texts of a photo; None where it has none."""

    taken: datetime.datetime | None = None
    camera: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    description: str | None = None
    """What people wrote about it."""
    alt_text: str | None = None
    """The alternative text that people wrote for readers who cannot see it (IPTC Core)."""


def read_metadata(opened: Image.Image, path: Path | None = None) -> PhotoMetadata:
    """The metadata of an image that Pillow opened; broken parts are left out, and it never raises.

    path: where the image lies, to find a sidecar; None for none.
    """
    exif = ExifFacts()
    with contextlib.suppress(Exception):
        exif = exif_facts(opened.getexif())
    outside = Xmp() if path is None else texts_in(sidecar_packet(path))
    inside = texts_in(embedded_xmp(opened))
    texts = _descriptions(opened, outside, inside, exif)
    description = next((text for text in texts if written_by_people(text)), None)
    alt_text = outside.text(ALT_TEXT) or inside.text(ALT_TEXT)
    return PhotoMetadata(exif.taken, exif.camera, exif.latitude, exif.longitude, description, alt_text)


def _descriptions(opened: Image.Image, outside: Xmp, inside: Xmp, exif: ExifFacts) -> Iterator[str]:
    """All of them in order, except for generated captions that were written back and not edited since."""
    generated = {outside.text(GENERATED), inside.text(GENERATED)}
    for text in (
        outside.text(DESCRIPTION),
        outside.text(ALT_TEXT),
        inside.text(DESCRIPTION),
        inside.text(ALT_TEXT),
        _iptc(opened),
        exif.description,
        _png_text(opened),
    ):
        if text is not None and text not in generated:
            yield text


def sidecars(path: Path) -> tuple[Path, Path]:
    """Where the sidecar of a photo may lie: dog.jpg.xmp (darktable, digiKam), dog.xmp (Adobe)."""
    return path.with_name(f"{path.name}.xmp"), path.with_suffix(".xmp")


def modified_time(path: Path, own: int) -> int:
    """The time of change of a photo (`own`) or of its sidecar, whichever is later, in nanoseconds."""
    times = [own]
    for sidecar in sidecars(path):
        with contextlib.suppress(OSError, ValueError):
            times.append(sidecar.stat().st_mtime_ns)
    return max(times)


def sidecar_packet(path: Path) -> bytes | None:
    """The bytes of the sidecar of a photo; None if it has none that can be read."""
    for sidecar in sidecars(path):
        with contextlib.suppress(OSError):
            if sidecar.is_file() and sidecar.stat().st_size <= LARGEST:
                return sidecar.read_bytes()
    return None


def embedded_xmp(opened: Image.Image) -> bytes | None:
    """The XMP packet in an image; None if it has none."""
    packet = opened.info.get("xmp") or opened.info.get("XML:com.adobe.xmp")
    if packet is None:
        packet = getattr(opened, "tag_v2", {}).get(TIFF_XMP)
    return packet.encode() if isinstance(packet, str) else packet if isinstance(packet, bytes) else None


def _iptc(opened: Image.Image) -> str | None:
    resources = opened.info.get("photoshop")
    block = resources.get(IPTC_RESOURCE) if isinstance(resources, dict) else None
    if block is None:
        block = getattr(opened, "tag_v2", {}).get(TIFF_IPTC)
    return iptc_caption(bytes(block)) if isinstance(block, bytes) else None


def _png_text(opened: Image.Image) -> str | None:
    if opened.format != "PNG":
        return None
    text = opened.info.get(PNG_TEXT)
    return clean_text(text) if isinstance(text, str) else None
