"""A photo on its way into an index: where it lies, what its file says, what a model made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tellapart.images.formats import name_fault
from tellapart.search.examine import FileFacts, examine
from tellapart.search.store import inside


@dataclass(frozen=True)
class Photo:
    path: str
    folder: str


@dataclass(frozen=True)
class Examined:
    """A photo's facts and vector; no vector where its bytes are in the index already, or where it has a fault."""

    photo: Photo
    facts: FileFacts | None
    vector: np.ndarray | None = None  # [E]
    caption: str | None = None
    fault: str = ""


Engine = Callable[[Iterator[list[Photo]]], Iterator[list[Examined]]]
"""Examines photos, in chunks of its own making; each chunk it yields is kept in one transaction."""


def examine_file(photo: Photo) -> Examined:
    """A photo's facts, not looked at yet."""
    if fault := name_fault(photo.path):
        return Examined(photo, None, fault=fault)
    if inside(photo.path, photo.folder) is None:
        return Examined(photo, None, fault=f"{photo.path} is gone, is no file, or leads out of {photo.folder}")
    try:
        return Examined(photo, examine(Path(photo.path)))
    except OSError as error:
        return Examined(photo, None, fault=f"{photo.path} cannot be read ({error.strerror or error})")
