"""An index in SQLite. A transaction is on the disk when its method returns; readers see it whole or not at all."""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.search.edit_history import Edit
from tellapart.search.filters import Filters
from tellapart.search.protocol import NO_FILTERS, Built
from tellapart.search.sqlite import writing
from tellapart.search.sqlite.conditions import condition
from tellapart.search.sqlite.connections import Connections
from tellapart.search.sqlite.full_text import matching_ids
from tellapart.search.sqlite.values import as_matrix, read_rows
from tellapart.search.table import FACTS, About, Row
from tellapart.search.table_errors import table_errors

PAGE_OF_ROWS = 8192
VALUES_PER_QUERY = 500
"""SQLite allows 999 in its older versions."""


class SqliteStore:
    """An opened index; see `Store`."""

    def __init__(self, where: str, connections: Connections, about: About) -> None:
        self.where, self.connections, self.about = where, connections, about

    def __len__(self) -> int:
        return int(self._one("SELECT count(*) FROM vectors"))

    @property
    def version(self) -> int:
        """A number that grows with every change."""
        return int(self._one("SELECT version FROM state"))

    @property
    def photos_version(self) -> int:
        """A number that grows with every change of photos, but not with edited captions."""
        return int(self._one("SELECT photos FROM state"))

    @property
    def changed(self) -> datetime.datetime:
        """When the index was written last, in UTC."""
        text = self._one("SELECT changed FROM state")
        with table_errors(self.where):
            return datetime.datetime.fromisoformat(text) if text else datetime.datetime.now(datetime.UTC)

    def has(self, column: str) -> bool:
        """Every column is there."""
        return True

    def rows(self, columns: Sequence[str], filters: Filters = NO_FILTERS, edited: bool = False) -> Iterator[Row]:
        """Columns of all rows, or of those that meet conditions, or that have an edited caption."""
        where, values = condition(filters)
        where += " AND edited IS NOT NULL" if edited else ""
        for page in self._pages(["id", *columns], where, values):
            yield from self._read(columns, [row[1:] for row in page])

    def having(self, column: str, values: Sequence[str], columns: Sequence[str]) -> Iterator[Row]:
        """Rows whose `column`, path or content, is one of `values`."""
        for first in range(0, len(values), VALUES_PER_QUERY):
            some = values[first : first + VALUES_PER_QUERY]
            query = f"SELECT {_named(columns)} FROM {_tables(columns)} WHERE {column} IN ({_marks(some)})"
            yield from self._read(columns, self._all(query, some))

    def vectors(self, filters: Filters = NO_FILTERS) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Ids [N] int64 and vectors [N, E] float32 of rows, some thousand at a time."""
        where, values = condition(filters)
        every = filters == NO_FILTERS
        for page in self._pages(["id", "vector"], where, values, "vectors" if every else ""):
            with table_errors(self.where):
                found = (
                    np.asarray([id_ for id_, _ in page], np.int64),
                    as_matrix([v for _, v in page], self.about.width),
                )
            yield found

    def ids(self, filters: Filters) -> np.ndarray:
        """Ids [N] int64 of rows that meet conditions."""
        where, values = condition(filters)
        return np.asarray(self._all(f"SELECT id FROM photos WHERE {where}", values), np.int64).reshape(-1)

    def by_ids(self, ids: Sequence[int], columns: Sequence[str]) -> dict[int, Row]:
        """Rows by their ids; those that are gone are left out."""
        found: dict[int, Row] = {}
        for first in range(0, len(ids), VALUES_PER_QUERY):
            some = [int(id_) for id_ in ids[first : first + VALUES_PER_QUERY]]
            query = f"SELECT {_named(['id', *columns])} FROM {_tables(columns)} WHERE photos.id IN ({_marks(some)})"
            rows = self._all(query, some)
            found.update(zip([row[0] for row in rows], self._read(columns, [row[1:] for row in rows])))
        return found

    def with_words(self, words: Sequence[str], columns: Sequence[str], count: int, filters: Filters) -> list[Row]:
        """The rows whose captions match words best, each once: by people's captions, then by generated ones."""
        with self.connections.reading() as connection:
            ids = matching_ids(connection, words, count, filters)
        rows = self.by_ids(ids, columns)
        return [rows[id_] for id_ in ids if id_ in rows]

    def near(self, query: np.ndarray, count: int, filters: Filters, columns: Sequence[str]) -> list[Row] | None:
        """None: every search is exact."""
        return None

    def approximate(self) -> Built | None:
        """None: every search is exact."""
        return None

    def build(self, embed_texts: Callable[[Sequence[str]], np.ndarray]) -> Built | None:
        """None: every search is exact."""
        return None

    def history(self, content: str, paths: Sequence[str]) -> list[Edit]:
        """The captions that people saved for a photo, oldest first."""
        query = f"SELECT caption, saved FROM edits WHERE content = ? OR path IN ({_marks(paths)}) ORDER BY saved, id"
        rows = self._all(query, [content, *paths])
        with table_errors(self.where):
            return [Edit(caption, datetime.datetime.fromisoformat(saved)) for caption, saved in rows]

    def row(self, path: str) -> Row | None:
        """All columns of a photo except its vector; None if it is not in the index."""
        return next(self.having("path", [path], FACTS), None)

    def folders(self) -> list[str]:
        """The indexed folders."""
        return [folder for (folder,) in self._all("SELECT DISTINCT folder FROM photos ORDER BY folder")]

    def write(self, new: Sequence[Row], replaced: Sequence[Row], sources: dict[str, Row]) -> None:
        """Add rows, and replace the rows of known paths, except for captions that people edited."""
        if new or replaced:
            with self.connections.writing() as connection:
                writing.put_rows(connection, [*new, *replaced], sources)

    def put_columns(self, rows: Sequence[Row]) -> None:
        """Replace some columns of rows, which are found by their `path`; all rows have the same columns."""
        if rows:
            with self.connections.writing() as connection:
                writing.put_columns(connection, rows)

    def delete(self, paths: Sequence[str]) -> None:
        """Delete the rows of these paths."""
        if paths:
            with self.connections.writing() as connection:
                writing.delete(connection, paths)

    def edit(self, path: str, caption: str | None) -> None:
        """Set the caption that a person wrote for a file; None returns to the generated one."""
        with self.connections.writing(photos=False) as connection:
            if not writing.edit(connection, "path", path, caption):
                raise InputError(f"{path} is not in the index {self.where}.")

    def edit_copies(self, content: str, caption: str | None) -> None:
        """Set the caption of every copy of a photo. Its edit and the history are one transaction."""
        with self.connections.writing(photos=False) as connection:
            writing.edit(connection, "content", content, caption)

    def edit_all(self, captions: dict[str, str]) -> None:
        """Set the edited captions of several paths."""
        if captions:
            with self.connections.writing(photos=False) as connection:
                for path, caption in captions.items():
                    writing.edit(connection, "path", path, caption)

    def sync(self) -> None:
        """Nothing: every transaction is on the disk."""

    def compact(self) -> None:
        """Return the space of deleted photos to the disk, if it is half of the database."""
        with self.connections.reading() as connection:
            pages, free = (
                connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count")
            )
            if 2 * free > pages and free > writing.FEW_PAGES:
                writing.vacuum(connection)

    def finish(self) -> None:
        """Nothing: a transaction changes the full text, too."""

    def close(self) -> None:
        """Close the database; it is opened again when it is used."""
        self.connections.close()

    def _pages(self, columns: Sequence[str], where: str, values: Sequence[Any], table: str = "") -> Iterator[list[Any]]:
        """Rows in the order of their ids. Nothing is locked between two pages. table: one that has all columns."""
        last, key = -1, f"{table or 'photos'}.id"
        query = (
            f"SELECT {', '.join(columns) if table else _named(columns)} FROM {table or _tables(columns)} "
            f"WHERE {key} > ? AND {where} ORDER BY {key} LIMIT {PAGE_OF_ROWS}"
        )
        while page := self._all(query, [last, *values]):
            yield page
            last = page[-1][0]

    def _all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self.connections.reading() as connection:
            return connection.execute(query, list(values)).fetchall()

    def _read(self, columns: Sequence[str], found: Sequence[Sequence[Any]]) -> list[Row]:
        with table_errors(self.where):  # a damaged value
            return read_rows(columns, found)

    def _one(self, query: str) -> Any:
        with self.connections.reading() as connection:
            found: sqlite3.Cursor = connection.execute(query)
            return found.fetchone()[0]


def _named(columns: Sequence[str]) -> str:
    return ", ".join("photos.id" if name == "id" else name for name in columns)


def _tables(columns: Sequence[str]) -> str:
    return "photos JOIN vectors ON vectors.id = photos.id" if "vector" in columns else "photos"


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))
