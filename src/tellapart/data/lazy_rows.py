"""Rows of large packs, read from the disk when they are asked for: memory holds where each row begins."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np

from tellapart.core.explained import explained
from tellapart.core.json_text import parse_json

Row = TypeVar("Row")
BLOCK = 1 << 24
"""Bytes read at once while lines are counted."""
AGAIN = "prepare the pack again"


class LazyRows(Sequence[Row]):
    """The rows of a file with one JSON value per line.

    Args:
        path: the file.
        make: from a line's value to a row.
    """

    def __init__(self, path: Path, make: Callable[[Any], Row]) -> None:
        self.path, self.make = path, make
        self.starts = _line_starts(path)  # [N + 1]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, slice):
            return [self[row] for row in range(*place.indices(len(self)))]
        row = range(len(self))[place]  # counts from the end, and raises beyond it
        return self._parsed(self._bytes[int(self.starts[row]) : int(self.starts[row + 1])])

    def __iter__(self) -> Iterator[Row]:
        with self.path.open("rb") as file:
            for line in file:
                if line.strip():
                    yield self._parsed(line)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_bytes"}

    @cached_property
    def _bytes(self) -> mmap.mmap:
        with self.path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def _parsed(self, line: bytes) -> Row:
        with explained(self.path, AGAIN):
            return self.make(parse_json(line.decode("utf-8")))


def _line_starts(path: Path) -> np.ndarray:
    """Where each line of a file begins, and its end [N + 1]."""
    ends, before = [np.zeros(1, np.int64)], 0
    with explained(path, AGAIN), path.open("rb") as file:
        while block := file.read(BLOCK):
            ends.append(np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + before + 1)
            before += len(block)
    starts = np.concatenate(ends)
    return starts if int(starts[-1]) == before else np.append(starts, before)


class GroupedRows(Sequence[list[int]]):
    """Rows of captions by image, in order, from the image of each caption [C].

    >>> GroupedRows(np.asarray([1, 0, 1, -1]), 3)[1], GroupedRows(np.asarray([1, 0, 1, -1]), 3)[2]
    ([0, 2], [])
    """

    def __init__(self, owner: np.ndarray, groups: int) -> None:
        self.order = np.argsort(owner, kind="stable")
        self.starts = np.searchsorted(owner[self.order], np.arange(groups + 1))  # [G + 1]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, place: int) -> list[int]: ...
    @overload
    def __getitem__(self, place: slice) -> list[list[int]]: ...
    def __getitem__(self, place: int | slice) -> list[int] | list[list[int]]:
        if isinstance(place, slice):
            return [self[group] for group in range(*place.indices(len(self)))]
        group = range(len(self))[place]
        rows: list[int] = self.order[int(self.starts[group]) : int(self.starts[group + 1])].tolist()
        return rows
