"""An index in LanceDB: one row per photo. Every change is one transaction: it is visible whole or not at all."""

from __future__ import annotations

import contextlib
import datetime
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.explained import explained
from tellapart.core.file_lock import lock
from tellapart.search.edit_history import Edit
from tellapart.search.filters import Filters
from tellapart.search.lance import ann
from tellapart.search.lance.compaction import KEEP_VERSIONS, compact_table
from tellapart.search.lance.conditions import condition
from tellapart.search.lance.copied_edits import copy_edits
from tellapart.search.lance.edit_copies import edit_copies
from tellapart.search.lance.edit_history import EditHistory
from tellapart.search.lance.full_text import build_text_indexes, rows_with_words
from tellapart.search.lance.reading import ids_of, read_batches, rows_of
from tellapart.search.lance.saved import Saved
from tellapart.search.lance.schema import LATER, as_table, listed, quoted
from tellapart.search.lance.upkeep import Upkeep
from tellapart.search.location import LANCE_TABLE as TABLE
from tellapart.search.protocol import NO_FILTERS, Built
from tellapart.search.table import FACTS, About, Row
from tellapart.search.table_errors import table_errors

if TYPE_CHECKING:
    import pyarrow as pa

COMPACT_ATTEMPTS = 5
VALUES_PER_CONDITION = 1000


class LanceStore:
    """An opened index; see `Store`."""

    def __init__(self, where: str, table: Any, database: Any) -> None:
        self.where, self.table, self.edits = where, table, EditHistory(where, database)
        self._saved, self._upkeep = Saved(where), Upkeep(self._tidy)
        self._writing = threading.Lock()
        about = (table.schema.metadata or {}).get(b"tellapart")
        if about is None:
            raise InputError(f"The table in {where} is not an index of tellapart; make an index elsewhere.")
        with explained(where, "make an index elsewhere"):
            self.about = About(**json.loads(about))

    def __len__(self) -> int:
        with table_errors(self.where):
            return int(self.table.count_rows())

    @property
    def version(self) -> int:
        """A number that grows with every change."""
        with table_errors(self.where):
            return int(self.table.version)

    @property
    def changed(self) -> datetime.datetime:
        """When the table was written last, in UTC."""
        with table_errors(self.where):
            written: datetime.datetime = max(version["timestamp"] for version in self.table.list_versions())
        return written.astimezone(datetime.UTC)

    @property
    def photos_version(self) -> int:
        """The same number: LanceDB does not tell what has changed."""
        return self.version

    def schema(self) -> pa.Schema:
        """The columns of the table."""
        return self.table.schema

    def has(self, column: str) -> bool:
        """Whether there is a column: an index that was made earlier lacks those in LATER."""
        return column in self.schema().names

    def rows(self, columns: Sequence[str], filters: Filters = NO_FILTERS, edited: bool = False) -> Iterator[Row]:
        """Columns of all rows, or of those that meet conditions, or that have an edited caption."""
        for batch in self.batches(columns, condition(filters, edited)):
            yield from rows_of(batch, self.about.width)

    def vectors(self, filters: Filters = NO_FILTERS) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Ids [N] int64 and vectors [N, E] float32 of rows, some thousand at a time."""
        for batch in self.batches(["vector"], condition(filters)):
            yield ids_of(batch), ann.as_matrix(batch["vector"], self.about.width)

    def ids(self, filters: Filters) -> np.ndarray:
        """Ids [N] int64 of rows that meet conditions."""
        found = [ids_of(batch) for batch in self.batches(["path"], condition(filters))]
        return np.concatenate([np.zeros(0, np.int64), *found])

    def by_ids(self, ids: Sequence[int], columns: Sequence[str]) -> dict[int, Row]:
        """Rows by their ids; those that are gone are left out."""
        found: dict[int, Row] = {}
        for first in range(0, len(ids), VALUES_PER_CONDITION):
            wanted = ", ".join(str(id_) for id_ in ids[first : first + VALUES_PER_CONDITION])
            for batch in self.batches(columns, f"_rowid IN ({wanted})"):
                found.update(zip(ids_of(batch).tolist(), rows_of(batch, self.about.width)))
        return found

    def with_words(self, words: Sequence[str], columns: Sequence[str], count: int, filters: Filters) -> list[Row]:
        """The rows whose captions match words best, each once: by people's captions, then by generated ones."""
        rows = rows_with_words(self, words, columns, count, filters)
        for row in rows:
            if "vector" in row:
                row["vector"] = np.asarray(row["vector"], np.float32)
        return rows

    def near(self, query: np.ndarray, count: int, filters: Filters, columns: Sequence[str]) -> list[Row] | None:
        """The rows nearest to a vector by the approximate index, with `vector` and `cosine`; None if there is none."""
        built = self.approximate()
        if built is None:
            return None
        with table_errors(self.where):
            request = ann.search(self, query, count, built.nprobes, condition(filters))
            rows: list[Row] = request.select([*self.existing(columns), "vector", "_distance"]).to_arrow().to_pylist()
        for row in rows:
            row["cosine"], row["vector"] = 1 - row.pop("_distance"), np.asarray(row["vector"], np.float32)
        return rows

    def approximate(self) -> Built | None:
        """The approximate index; None if there is none."""
        with table_errors(self.where):
            return ann.built(self)

    def build(self, embed_texts: Callable[[Sequence[str]], np.ndarray]) -> Built | None:
        """Build an approximate index if the rows are so many that it pays."""
        if len(self) < ann.EXACT_BELOW:
            return None
        return ann.build_if_large(self, ann.sample_queries(self, embed_texts))

    def history(self, content: str, paths: Sequence[str]) -> list[Edit]:
        """The captions that people saved for a photo, oldest first."""
        return self.edits.of(content, paths)

    def write(self, new: Sequence[Row], replaced: Sequence[Row], sources: dict[str, Row]) -> None:
        """Add rows, and replace the rows of known paths, except for captions that people edited."""
        self.put(as_table(replaced, self.schema(), self.about.width))
        self.add(as_table(new, self.schema(), self.about.width))
        copy_edits(self, sources, new, replaced)

    def add(self, rows: pa.Table) -> None:
        """Add rows whose paths are not in the table yet."""
        if rows.num_rows:
            with table_errors(self.where):
                self.table.add(rows)

    def put(self, rows: pa.Table) -> None:
        """Replace the rows with the same paths, except for edited captions: those in the table may be newer."""
        if rows.num_rows:
            with table_errors(self.where):
                self.table.merge_insert("path").when_matched_update_all().execute(rows.drop_columns("edited"))

    def put_columns(self, rows: Sequence[dict[str, Any]]) -> None:
        """Replace some columns of rows, which are found by their `path`; all rows have the same columns."""
        import pyarrow as pa

        if rows and not all(map(self.has, rows[0])):
            self.add_later_columns()
        for first in range(0, len(rows), VALUES_PER_CONDITION):
            some = rows[first : first + VALUES_PER_CONDITION]
            columns = pa.schema([self.schema().field(name) for name in some[0]])
            with table_errors(self.where):
                table = pa.Table.from_pylist(list(some), columns)
                self.table.merge_insert("path").when_matched_update_all().execute(table)

    def delete(self, paths: Sequence[str]) -> None:
        """Delete the rows of these paths."""
        for first in range(0, len(paths), VALUES_PER_CONDITION):
            with table_errors(self.where):
                self.table.delete(f"path IN {listed(paths[first : first + VALUES_PER_CONDITION])}")

    def edit(self, path: str, caption: str | None) -> None:
        """Set the caption that a person wrote for a file; None returns to the generated one."""
        with self._writing, table_errors(self.where):
            updated = self.table.update(where=f"path = {quoted(path)}", values={"edited": caption}).rows_updated
        if not updated:
            raise InputError(f"{path} is not in the index {self.where}.")
        for row in self.having("path", [path], ["content"]):
            self.edits.add(row["content"], path, caption)
        self._end_edit()

    def edit_all(self, captions: dict[str, str]) -> None:
        """Set the edited captions of several paths."""
        if not captions:
            return
        rows = list(self.having("path", list(captions), ["path", "content"]))
        self.put_columns([{"path": row["path"], "edited": captions[row["path"]]} for row in rows])
        self.edits.add_all([(row["content"], row["path"], captions[row["path"]]) for row in rows])
        self.sync()

    def edit_unless_changed(self, path: str, before: str | None, caption: str | None) -> None:
        """The same if the file still has the edited caption `before`; otherwise that one is newer."""
        still = "edited IS NULL" if before is None else f"edited = {quoted(before)}"
        with table_errors(self.where):
            self.table.update(where=f"path = {quoted(path)} AND {still}", values={"edited": caption})

    def edit_copies(self, content: str, caption: str | None) -> None:
        """Set the caption of every copy of a photo, including copies that are being indexed at this moment."""
        before = list(self.having("content", [content], ["path", "edited"]))
        edit_copies(self.table, self.where, content, caption, self._writing)
        if any(row["edited"] != caption for row in before):
            self.edits.add(content, min(row["path"] for row in before), caption)
        self._end_edit()

    def _end_edit(self) -> None:
        """Save an edit, and have the files that edits leave joined later."""
        self.sync()
        if "://" not in self.where:
            self._upkeep.note()

    def _tidy(self, keep: datetime.timedelta) -> None:
        """Join pieces, unless `index` is running, which does so itself."""
        with (Path(self.where) / ".lock").open("a") as guard, contextlib.suppress(OSError):
            lock(guard)
            guard.close()
            with self._writing:  # edits wait: a stream of them would make every attempt fail
                self.compact(keep)

    def sync(self) -> None:
        """Write every change so far to the disk: they outlive a power failure then."""
        with table_errors(self.where):
            self._saved.sync()

    def existing(self, columns: Sequence[str]) -> list[str]:
        """Those of some columns that the table has: an index that was made earlier lacks those in LATER."""
        there = set(self.schema().names)
        return [name for name in columns if name in there or name not in LATER]

    def add_later_columns(self) -> None:
        """Add the columns that an index made earlier lacks, without values."""
        missing = {name: value for name, value in LATER.items() if name not in self.schema().names}
        if missing:
            with table_errors(self.where):
                self.table.add_columns(missing)

    def batches(self, columns: Sequence[str], where: str = "") -> Iterator[pa.RecordBatch]:
        """Columns of all rows (or of those that meet a condition) with `_rowid`, batch by batch.

        An index that was made earlier has fewer: see `existing`.
        """
        with table_errors(self.where):
            yield from read_batches(self.table, self.existing(columns), where)

    def row(self, path: str) -> dict[str, Any] | None:
        """All columns of a photo except its vector; None if it is not in the index."""
        return next(self.having("path", [path], FACTS), None)

    def having(self, column: str, values: Sequence[str], columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Rows whose `column` is one of `values`."""
        for first in range(0, len(values), VALUES_PER_CONDITION):
            one_of = f"{column} IN {listed(values[first : first + VALUES_PER_CONDITION])}"
            for batch in self.batches(columns, one_of):
                yield from rows_of(batch, self.about.width)

    def folders(self) -> list[str]:
        """The indexed folders."""
        return sorted({folder for batch in self.batches(["folder"]) for folder in set(batch["folder"].to_pylist())})

    def close(self) -> None:
        """Nothing: LanceDB keeps no file open."""

    def finish(self) -> None:
        """End an update: rows that were added are found by their captions, too."""
        build_text_indexes(self)

    def compact(self, keep: datetime.timedelta = KEEP_VERSIONS) -> None:
        """Join small pieces, add new rows to the approximate index, and delete versions older than `keep`.

        Given up if others keep writing (captions edited on the page): the next update does it, and nothing is lost.
        """
        for _ in range(COMPACT_ATTEMPTS):
            try:
                with table_errors(self.where):
                    compact_table(self.table, self._saved, TABLE, keep)
                self.edits.compact(keep)
                return
            except InputError as error:
                if "keep writing" not in str(error):
                    raise
