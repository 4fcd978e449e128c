"""A photo on its way into an index: its path, the facts of its file, its vector and caption."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tellapart.images.folders import file_inside
from tellapart.images.formats import VIDEO, name_fault
from tellapart.images.previews import LARGEST_VIDEO
from tellapart.images.remote import RemoteFile, is_address, leads_out
from tellapart.search.file_facts import FileFacts, file_facts


@dataclass(frozen=True)
class Photo:
    """The path of a photo, and the indexed folder around it."""

    path: str
    folder: str
    modified: int = 0
    """Of a photo at an address: when it was changed, in nanoseconds, as the list of files said."""
    size: int = 0
    """Of a photo at an address: its bytes, as the list of files said."""

    @property
    def file(self) -> Path | RemoteFile:
        """The file itself."""
        return RemoteFile(self.path) if is_address(self.path) else Path(self.path)


@dataclass(frozen=True)
class Examined:
    """Facts and vector of a photo; no vector if its bytes are in the index already, or if it has a fault."""

    photo: Photo
    facts: FileFacts | None
    vector: np.ndarray | None = None  # [E]
    caption: str | None = None
    fault: str = ""
    changed: bool = False
    """The file changed between hashing and decoding: it must be examined again, and `fault` is no reason."""
    confidence: float | None = None
    """Probability that the caption is true; None for models that it was not calibrated for."""
    sure: bool | None = None


FETCHED_AT_ONCE = 16
Engine = Callable[[Iterator[list[Photo]]], Iterator[list[Examined]]]
"""Examines photos and yields them in chunks of any size; each chunk is written in one transaction."""


def examine_files(photos: Sequence[Photo]) -> list[Examined]:
    """The facts of photos, without their vectors; several at once where each has to be fetched."""
    if not any(is_address(photo.path) for photo in photos):
        return [examine_file(photo) for photo in photos]
    with ThreadPoolExecutor(FETCHED_AT_ONCE) as pool:
        return list(pool.map(examine_file, photos))


def examine_file(photo: Photo) -> Examined:
    """The facts of a photo, without its vector."""
    if fault := name_fault(photo.path):
        return Examined(photo, None, fault=fault)
    if is_address(photo.path):
        return _examine_remote(photo)
    if file_inside(photo.path, photo.folder) is None:
        return Examined(
            photo, None, fault=f"{photo.path} does not exist, is not a file, or links out of {photo.folder}"
        )
    try:
        if photo.file.suffix.lower() in VIDEO and os.path.getsize(photo.path) > LARGEST_VIDEO:
            return Examined(photo, None, fault=f"{photo.path} is larger than {LARGEST_VIDEO >> 20} MB; cut it")
        return Examined(photo, file_facts(Path(photo.path)))
    except OSError as error:
        return Examined(photo, None, fault=f"{photo.path} cannot be read ({error.strerror or error})")


def _examine_remote(photo: Photo) -> Examined:
    if leads_out(photo.path, photo.folder):
        return Examined(photo, None, fault=f"{photo.path} links out of {photo.folder}")
    if photo.size > LARGEST_VIDEO:  # before it is fetched, and FETCHED_AT_ONCE of them are in memory
        advice = "cut it" if photo.file.suffix.lower() in VIDEO else "make it smaller"
        return Examined(photo, None, fault=f"{photo.path} is larger than {LARGEST_VIDEO >> 20} MB; {advice}")
    try:
        return Examined(photo, file_facts(RemoteFile(photo.path), photo.modified))
    except OSError as error:
        return Examined(photo, None, fault=f"{photo.path} cannot be read ({error.strerror or error})")
