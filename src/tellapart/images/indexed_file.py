"""The file of a photo of an index, on disk or at an address."""

from __future__ import annotations

from pathlib import Path

from tellapart.images.folders import file_inside
from tellapart.images.remote import RemoteFile, is_address, leads_out


def indexed_file(path: str, folder: str) -> Path | RemoteFile | None:
    """The file to read; None if it is gone or links out of the indexed folder, which at an address only reading says.

    >>> indexed_file("s3://bucket/photos/dog.jpg", "s3://bucket/photos").name
    'dog.jpg'
    """
    if not is_address(path):
        return file_inside(path, folder)
    return None if leads_out(path, folder) else RemoteFile(path)
