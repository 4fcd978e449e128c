"""Descriptions written into photos or their sidecars. The original is kept, and nothing else in a file changes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_path
from tellapart.images.metadata.chunk_editing import png_with_description, webp_with_description
from tellapart.images.metadata.jpeg_editing import DESCRIPTION, jpeg_with_description
from tellapart.images.metadata.photo_metadata import TIFF_XMP, read_metadata, sidecars
from tellapart.images.metadata.text import clean_text
from tellapart.images.metadata.tiff_tags import ASCII, BYTE, UnknownStructure, with_tags
from tellapart.images.metadata.xmp import DESCRIPTION as XMP_DESCRIPTION
from tellapart.images.metadata.xmp import BrokenXmp, read_xmp
from tellapart.images.metadata.xmp_editing import with_description

Where = Literal["sidecar", "embedded"]
ORIGINAL = "_original"
"""Added to the name of a file for its original, as exiftool does."""


class Editor(Protocol):
    """Gives the bytes of a file with a description."""

    def __call__(self, data: bytes, text: str, *, generated: bool) -> bytes: ...


def tiff_with_description(data: bytes, text: str, *, generated: bool) -> bytes:
    """A TIFF file with a description in XMP and in its own tag."""
    import io

    from PIL import Image

    with Image.open(io.BytesIO(data)) as opened:
        packet = getattr(opened, "tag_v2", {}).get(TIFF_XMP)
    edited = with_description(packet if isinstance(packet, bytes) else None, text, generated=generated)
    return with_tags(data, {DESCRIPTION: (ASCII, text.encode() + b"\0"), TIFF_XMP: (BYTE, edited)})


EDITORS: dict[str, Editor] = {
    "JPEG": jpeg_with_description,
    "MPO": jpeg_with_description,
    "PNG": png_with_description,
    "WEBP": webp_with_description,
    "TIFF": tiff_with_description,
}
"""By Pillow's name of the format. Other formats have sidecars."""


def write_description(
    photo: Path, text: str, where: Where, *, generated: bool = False, backup: bool = True
) -> Path | None:
    """Write a description into a photo or its sidecar, atomically; the file that changed, None if it had it already.

    generated: mark it as generated, so that it is not read as people's own later.
    backup: keep the original as dog.jpg_original, unless an older one is there.
    """
    cleaned = clean_text(text)
    if cleaned is None:
        raise InputError(f"{photo}: a description needs at least one letter.")
    file = Path(os.path.realpath(photo))
    if where == "embedded":
        changed = _replace(file, lambda data: _embedded(file, data, cleaned, generated), backup)
        return file if changed else None
    sidecar = next((path for path in sidecars(file) if path.is_file()), sidecars(file)[0])
    changed = _replace(sidecar, lambda data: _in_sidecar(sidecar, data, cleaned, generated), backup)
    return sidecar if changed else None


def _embedded(file: Path, data: bytes, text: str, generated: bool) -> bytes:
    import io

    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as opened:
            size, kind = opened.size, opened.format or ""
        if kind == "TIFF" and file.suffix.lower() not in (".tif", ".tiff"):
            kind = "raw"  # most raw formats are TIFF inside, and cameras' own programs must open them
        if kind not in EDITORS:
            raise UnknownStructure(f"descriptions are not embedded in {kind} files")
        edited = EDITORS[kind](data, text, generated=generated)
        with Image.open(io.BytesIO(edited)) as opened:
            read = read_metadata(opened).description
            if opened.size != size or (not generated and read != text):
                raise UnknownStructure("it would not be read again")
    except (UnknownStructure, BrokenXmp) as error:
        raise InputError(f"{file}: the description cannot be embedded ({error}); use a sidecar.") from error
    except Exception as error:  # a decoder may raise anything for a broken file
        raise InputError(f"{file} cannot be opened as an image ({error}); it is unchanged.") from error
    return edited


def _in_sidecar(sidecar: Path, data: bytes, text: str, generated: bool) -> bytes:
    try:
        edited = with_description(data or None, text, generated=generated)
        if read_xmp(edited).text(XMP_DESCRIPTION) != text:
            raise BrokenXmp("it would not be read again")
    except BrokenXmp as error:
        raise InputError(f"The sidecar {sidecar} cannot be edited ({error}); fix or remove it.") from error
    return edited


def _replace(path: Path, edit: Callable[[bytes], bytes], backup: bool) -> bool:
    """Replace a file by its edited bytes, with its rights, and say whether they differ. A new file has new rights."""
    there = path.exists()
    data = path.read_bytes() if there else b""
    edited = edit(data)
    if edited == data:
        return False
    rights = path.stat().st_mode & 0o7777 if there else None
    original = path.with_name(path.name + ORIGINAL)
    if backup and there and not original.exists():
        with atomic_path(original) as partial:
            shutil.copy2(path, partial)
    with atomic_path(path) as partial:
        partial.write_bytes(edited)
        if there and path.read_bytes() != data:
            raise InputError(f"{path} has changed meanwhile; try again.")
    if rights is not None:
        path.chmod(rights)
    return True
