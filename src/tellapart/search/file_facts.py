"""What an index stores of the file of a photo besides its vector: size, content, dimensions, date, camera, place."""

from __future__ import annotations

import contextlib
import datetime
import io
import os
from dataclasses import dataclass
from pathlib import Path

from tellapart.core.paths import OnePath
from tellapart.images.formats import image_suffixes
from tellapart.images.metadata.photo_metadata import PhotoMetadata, modified_time, read_metadata
from tellapart.images.opening_files import open_photo
from tellapart.images.orientation import upright_size
from tellapart.images.remote import RemoteFile, is_address
from tellapart.images.verified_file import hash_of


@dataclass(frozen=True)
class FileFacts:
    """Facts of one file."""

    size: int
    modified: int
    """In nanoseconds; of its sidecar, if that is newer."""
    content: str
    """Hash of the bytes: a moved or copied file keeps it."""
    width: int
    height: int
    """Of the upright photo, as a viewer shows it."""
    taken: datetime.datetime | None
    camera: str = ""
    latitude: float | None = None
    longitude: float | None = None
    described: str | None = None
    """What people wrote about the photo into its file."""


def file_facts(path: Path | RemoteFile, modified: int = 0) -> FileFacts:
    """Read the facts of a file; OSError if it cannot be read. A file that is not an image has width and height 0.

    The file is read once, so that all facts describe the same bytes. Its time is read first: a file that changes
    meanwhile has a later time at the next update.

    modified: of a file at an address, as the list of files said; sidecars are not read there.
    """
    image_suffixes()  # registers plugins
    if isinstance(path, RemoteFile):
        data = path.read_to_keep()
    else:
        with path.open("rb") as file:
            modified = modified_time(path, os.fstat(file.fileno()).st_mtime_ns)
            data = file.read()
    width, height, metadata = 0, 0, PhotoMetadata()
    # A broken header, for which a plugin may raise anything, is no error here: decoding reports it.
    with (
        contextlib.suppress(Exception),
        open_photo(io.BytesIO(data), path.suffix) as opened,
    ):
        width, height = upright_size(opened)
        metadata = read_metadata(opened, None if isinstance(path, RemoteFile) else path)
    return FileFacts(
        size=len(data),
        modified=modified,
        content=hash_of(data),
        width=width,
        height=height,
        taken=metadata.taken,
        camera=metadata.camera or "",
        latitude=metadata.latitude,
        longitude=metadata.longitude,
        described=metadata.description,
    )


def content_of(path: OnePath) -> str:
    """The hash of the bytes of a file on disk or at an address; OSError if it cannot be read."""
    file = RemoteFile(str(path)) if is_address(path) else Path(path)
    return hash_of(file.read_bytes())
