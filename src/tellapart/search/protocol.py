"""What keeps the rows of an index, one per photo. Every change is one transaction, visible whole or not at all."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tellapart.core.errors import InputError
from tellapart.search.edit_history import Edit
from tellapart.search.filters import Filters
from tellapart.search.table import About, Row

NO_FILTERS = Filters()


@dataclass(frozen=True)
class Built:
    """An approximate index and its recall."""

    nprobes: int
    recall: float
    """Share of the ten nearest rows that it finds."""
    rows: int


class Store(Protocol):
    """An opened index. One process adds and deletes photos at a time; any number read it and edit captions."""

    where: str
    about: About

    def __len__(self) -> int: ...

    @property
    def version(self) -> int:
        """A number that grows with every change."""
        ...

    @property
    def photos_version(self) -> int:
        """A number that grows with every change of photos; where that is known, not with edited captions."""
        ...

    @property
    def changed(self) -> datetime.datetime:
        """When the index was written last, in UTC."""
        ...

    def has(self, column: str) -> bool:
        """Whether there is a column: an index of an earlier version may lack some."""
        ...

    def rows(self, columns: Sequence[str], filters: Filters = NO_FILTERS, edited: bool = False) -> Iterator[Row]:
        """Columns of all rows, or of those that meet conditions, or that have an edited caption."""
        ...

    def having(self, column: str, values: Sequence[str], columns: Sequence[str]) -> Iterator[Row]:
        """Rows whose `column`, path or content, is one of `values`."""
        ...

    def vectors(self, filters: Filters = NO_FILTERS) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Ids [N] int64 and vectors [N, E] float32 of rows, some thousand at a time."""
        ...

    def ids(self, filters: Filters) -> np.ndarray:
        """Ids [N] int64 of rows that meet conditions."""
        ...

    def by_ids(self, ids: Sequence[int], columns: Sequence[str]) -> dict[int, Row]:
        """Rows by their ids; those that are gone are left out."""
        ...

    def with_words(self, words: Sequence[str], columns: Sequence[str], count: int, filters: Filters) -> list[Row]:
        """The rows whose captions match words best, each once: by people's captions, then by generated ones.

        Stems are compared, without accents.
        """
        ...

    def near(self, query: np.ndarray, count: int, filters: Filters, columns: Sequence[str]) -> list[Row] | None:
        """The rows nearest to a vector by an approximate index, with `vector` and `cosine`; None if there is none."""
        ...

    def approximate(self) -> Built | None:
        """The approximate index; None if there is none, so that every search is exact."""
        ...

    def build(self, embed_texts: Callable[[Sequence[str]], np.ndarray]) -> Built | None:
        """Build an approximate index if the rows are so many that it pays."""
        ...

    def history(self, content: str, paths: Sequence[str]) -> list[Edit]:
        """The captions that people saved for a photo, oldest first."""
        ...

    def row(self, path: str) -> Row | None:
        """All columns of a photo except its vector; None if it is not in the index."""
        ...

    def folders(self) -> list[str]:
        """The indexed folders."""
        ...

    def write(self, new: Sequence[Row], replaced: Sequence[Row], sources: dict[str, Row]) -> None:
        """Add rows, and replace the rows of known paths, except for captions that people edited.

        sources: by content, the rows that some rows were copied from; an edit that reached them since is copied, too.
        """
        ...

    def put_columns(self, rows: Sequence[Row]) -> None:
        """Replace some columns of rows, which are found by their `path`; all rows have the same columns."""
        ...

    def delete(self, paths: Sequence[str]) -> None:
        """Delete the rows of these paths."""
        ...

    def edit(self, path: str, caption: str | None) -> None:
        """Set the caption that a person wrote for a file; None returns to the generated one."""
        ...

    def edit_copies(self, content: str, caption: str | None) -> None:
        """Set the caption of every copy of a photo, including copies that are being indexed at this moment."""
        ...

    def edit_all(self, captions: dict[str, str]) -> None:
        """Set the edited captions of several paths."""
        ...

    def sync(self) -> None:
        """Return when every change so far outlives a power failure."""
        ...

    def compact(self) -> None:
        """Tidy up after many changes."""
        ...

    def close(self) -> None:
        """Close what is open; it is opened again when it is used."""
        ...

    def finish(self) -> None:
        """End an update: everything that a search needs is there."""
        ...


def check_matcher(store: Store, fingerprint: str, matcher: str) -> None:
    """Raise an InputError if another matcher made the index."""
    if store.about.fingerprint != fingerprint:
        if store.about.matcher == matcher:
            raise InputError(
                f"The index {store.where} was made by another version of {matcher}: their vectors cannot be "
                "compared. Index the photos again, at a new path."
            )
        raise InputError(
            f"The index {store.where} was made by another matcher ({store.about.matcher}) than {matcher}: their "
            "vectors cannot be compared. Give that one as `matcher`, or make a new index."
        )
