"""The photos of folders that are new or have changed since they were indexed."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from tellapart.images.folders import images_in
from tellapart.images.formats import NEEDS
from tellapart.images.metadata.photo_metadata import modified_time
from tellapart.images.remote import RemoteFile, is_address, photos_at
from tellapart.search.changes import Changes
from tellapart.search.examined import Photo
from tellapart.search.known import Known

Item = TypeVar("Item")
FILES_PER_STEP = 4096
"""Files whose size and time are compared at once."""
FIRST_CHUNK = 32
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""Errors of a file that does not exist, unlike one that exists and cannot be read."""


@dataclass
class Unreadable:
    """Folders and files that exist but cannot be read, for lack of permission or because of a failing disk.

    Their photos do not count as deleted: their rows and edited captions stay.
    """

    paths: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    extras: Counter[str] = field(default_factory=Counter)
    """How many files each extra that is not installed would open."""

    def lack(self, path: Path | RemoteFile) -> None:
        """Remember a file that cannot be opened because an extra is missing."""
        self.paths.add(str(path))
        self.extras[NEEDS[path.suffix.lower()]] += 1

    def add(self, error: OSError) -> None:
        """Remember the file of an error, unless it does not exist."""
        if error.errno not in GONE:
            self.paths.add(str(error.filename))
            reason = error.strerror or str(error)
            self.faults.append(f"{error.filename} cannot be read ({reason}); its rows in the index are kept")
        elif os.path.islink(error.filename):  # `tellapart caption` lists it in the same words
            self.faults.append(f"{error.filename} is not a file or a link to one")

    def hides(self, path: str) -> bool:
        """Whether a path is unreadable or lies in an unreadable folder."""
        return bool(self.paths) and not self.paths.isdisjoint((path, *map(str, Path(path).parents)))


def changed_photos(
    roots: Sequence[str],
    known: Known,
    unreadable: Unreadable,
    changes: Changes,
    chunk: int,
    advance: Callable[[int], None],
) -> Iterator[list[Photo]]:
    """Photos that are new or changed, in chunks; the first chunks are small, so that encoding starts at once."""
    waiting: list[Photo] = []
    size = min(chunk, FIRST_CHUNK)
    sidecars = _Sidecars()
    for some in _in_pieces(_walk(roots, unreadable), FILES_PER_STEP):
        states = [state or _state(photo.path, unreadable, sidecars) for photo, state in some]
        there = [photo for (photo, _), state in zip(some, states) if state is not None]
        sizes, modified = np.asarray([state for state in states if state is not None], np.int64).reshape(-1, 2).T
        same = known.unchanged([photo.path for photo in there], sizes, modified)
        changes.unchanged += int(same.sum())
        advance(int(same.sum()))
        waiting.extend(photo for photo, unchanged in zip(there, same.tolist()) if not unchanged)
        while len(waiting) >= size:
            yield waiting[:size]
            waiting, size = waiting[size:], min(chunk, 2 * size)
    if waiting:
        yield waiting


def count_photos(roots: Sequence[str]) -> int:
    """How many photos the folders hold, for a progress bar; folders that cannot be read are left out."""
    return sum(1 for _ in _walk(roots, Unreadable()))


State = tuple[int, int]
"""Size and time of change of a file."""


def _walk(roots: Sequence[str], unreadable: Unreadable) -> Iterator[tuple[Photo, State | None]]:
    """Each photo once, even if one folder lies in another: it belongs to the outermost. Lists of files at addresses
    say their state."""
    outermost = [root for root in dict.fromkeys(roots) if not any(_within(root, other) for other in roots)]
    for root in outermost:
        if is_address(root):
            for file in photos_at(root, unreadable.lack):
                yield Photo(file.address, root, file.modified, file.size), (file.size, file.modified)
            continue
        for path in images_in(Path(root), unreadable.add, unreadable.lack):
            yield Photo(str(path), root), None


def _within(root: str, other: str) -> bool:
    return root != other and Path(root).is_relative_to(other)


class _Sidecars:
    """Which sidecars a folder has. It is listed once, since photos come folder by folder."""

    def __init__(self) -> None:
        self.folder, self.stems = "", frozenset[str]()

    def has(self, path: str) -> bool:
        """Whether a photo has a sidecar: dog.jpg.xmp or dog.xmp."""
        folder, name = os.path.split(path)
        if folder != self.folder:
            try:
                names = os.listdir(folder)
            except OSError:
                names = []
            self.folder, self.stems = folder, frozenset(one[:-4] for one in names if one.endswith(".xmp"))
        return bool(self.stems) and (name in self.stems or os.path.splitext(name)[0] in self.stems)


def _state(path: str, unreadable: Unreadable, sidecars: _Sidecars) -> State | None:
    """Size and time of change of a file, or of its sidecar if that is newer; None if it cannot be read."""
    try:
        status = os.stat(path)
    except OSError as error:
        unreadable.add(error)
        return None
    own = status.st_mtime_ns
    return status.st_size, modified_time(Path(path), own) if sidecars.has(path) else own


def _in_pieces(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    piece: list[Item] = []
    for item in items:
        piece.append(item)
        if len(piece) == size:
            yield piece
            piece = []
    if piece:
        yield piece


def holds_photos(root: str) -> bool:
    """Whether there is a photo in a folder or at an address."""
    return next(_walk([root], Unreadable()), None) is not None
