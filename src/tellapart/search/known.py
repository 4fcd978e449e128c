"""What an index holds already, in 33 bytes per photo, so that ten million photos are compared in seconds."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tellapart.core.explained import explained
from tellapart.search.filters import Filters
from tellapart.search.protocol import Store

ROWS = 8192
"""Rows that are made small together."""


def short_hash(text: str) -> int:
    """A hash of 64 bits."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "little")


@dataclass
class Known:
    """Rows of an index, sorted by the hash of their path."""

    names: np.ndarray  # [N] uint64, sorted
    sizes: np.ndarray  # [N]
    modified: np.ndarray  # [N]
    contents: np.ndarray  # [N] uint64, sorted independently
    seen: np.ndarray  # [N] bool
    incomplete: np.ndarray  # [N] bool: an earlier version wrote the row, without the columns in LATER

    def find(self, paths: Sequence[str]) -> np.ndarray:
        """Positions [P] of these paths, -1 for unknown ones."""
        return _places(self.names, np.asarray([short_hash(path) for path in paths], np.uint64))

    def unchanged(self, paths: Sequence[str], sizes: np.ndarray, modified: np.ndarray) -> np.ndarray:
        """Which files [P] have not changed; all known files are marked as seen."""
        places = self.find(paths)
        there = places >= 0
        self.seen[places[there]] = True
        same = np.zeros(len(paths), bool)
        same[there] = (self.sizes[places[there]] == sizes[there]) & (self.modified[places[there]] == modified[there])
        same[there] &= ~self.incomplete[places[there]]
        return same

    def completes(self, path: str) -> bool:
        """Whether the row of a path is incomplete, so that it is written again although nothing has changed."""
        place = int(self.find([path])[0])
        return place >= 0 and bool(self.incomplete[place])

    def doubt_all(self) -> None:
        """Take no file for unchanged and no content for known, so that every photo is encoded again."""
        self.sizes = np.full_like(self.sizes, -1)
        self.contents = np.zeros(0, np.uint64)

    def gone(self, store: Store, folders: Sequence[str]) -> Iterator[str]:
        """Photos of the index under the folders that were walked, and that were not seen there."""
        if self.seen.all():
            return
        found: set[str] = set()
        for folder in folders:
            paths = [row["path"] for row in store.rows(["path"], Filters(folder)) if row["path"] not in found]
            places = self.find(paths).tolist()
            found.update(path for path, place in zip(paths, places) if place >= 0 and not self.seen[place])
        yield from sorted(found)


def read_known(store: Store) -> Known:
    """All rows of an index."""
    names, sizes, modified, contents, incomplete = [], [], [], [], []
    rows = store.rows(["path", "size", "modified", "content", "camera"])
    while some := list(itertools.islice(rows, ROWS)):
        incomplete.append(np.asarray([row.get("camera") is None for row in some]))
        names.append(np.asarray([short_hash(row["path"]) for row in some], np.uint64))
        with explained(f"The index {store.where}", "copy it again from where it is whole, or make it again"):
            contents.append(np.asarray([int(row["content"][:16], 16) for row in some], np.uint64))
            sizes.append(np.asarray([row["size"] for row in some], np.int64))
            modified.append(np.asarray([row["modified"] for row in some], np.int64))
    joined = _joined(names, np.uint64)
    order = np.argsort(joined)
    return Known(
        joined[order],
        _joined(sizes, np.int64)[order],
        _joined(modified, np.int64)[order],
        np.sort(_joined(contents, np.uint64)),
        np.zeros(len(order), bool),
        _joined(incomplete, np.bool_)[order],
    )


def holds_content(contents: np.ndarray, content: str) -> bool:
    """Whether a file with these bytes is in the index, under any name."""
    return bool(_places(contents, np.asarray([int(content[:16], 16)], np.uint64))[0] >= 0)


def _places(ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    if not len(ordered):
        return np.full(len(values), -1)
    places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.where(ordered[places] == values, places, -1)


def _joined(parts: list[np.ndarray], kind: type[np.generic]) -> np.ndarray:
    return np.concatenate(parts).astype(kind, copy=False) if parts else np.zeros(0, kind)
