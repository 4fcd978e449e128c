"""An index on LanceDB: one row per photo. Every change is one transaction: it is visible whole or not at all."""

from __future__ import annotations

import contextlib
import datetime
import importlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tellapart.core.errors import InputError, Step
from tellapart.core.explained import explained
from tellapart.core.file_lock import lock
from tellapart.images.folders import file_inside
from tellapart.search.compaction import KEEP_VERSIONS, compact_table
from tellapart.search.edit_history import EditHistory
from tellapart.search.recovery import recover_index
from tellapart.search.saved import Saved, manifests
from tellapart.search.table import FACTS, LATER, TABLE, About, listed, quoted, schema
from tellapart.search.table_errors import is_panic, table_errors
from tellapart.search.upkeep import Upkeep

if TYPE_CHECKING:
    import pyarrow as pa

INDEX_CACHE, FILE_CACHE = 1 << 30, 16 << 20
"""Bytes of approximate indexes and of facts about files that LanceDB keeps at most; its defaults are 6 and 1 GB."""
READ_INTERVAL = datetime.timedelta(seconds=2)
"""After this time a reader sees what another process wrote."""
COMPACT_ATTEMPTS, EDIT_ATTEMPTS = 5, 5
VALUES_PER_CONDITION = 1000


class Store:
    """An opened index. One process writes at a time; any number read."""

    def __init__(self, where: str, table: Any, database: Any) -> None:
        self.where, self.table, self.history = where, table, EditHistory(where, database)
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

    def schema(self) -> pa.Schema:
        """The columns of the table."""
        return self.table.schema

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
            self.history.add(row["content"], path, caption)
        self._end_edit()

    def edit_unless_changed(self, path: str, before: str | None, caption: str | None) -> None:
        """The same if the file still has the edited caption `before`; otherwise that one is newer."""
        still = "edited IS NULL" if before is None else f"edited = {quoted(before)}"
        with table_errors(self.where):
            self.table.update(where=f"path = {quoted(path)} AND {still}", values={"edited": caption})

    def edit_copies(self, content: str, caption: str | None) -> None:
        """Set the caption of every copy of a photo, including copies that are being indexed at this moment."""
        same = f"content = {quoted(content)}"
        other = "edited IS NOT NULL" if caption is None else f"(edited IS NULL OR edited != {quoted(caption)})"
        before = list(self.having("content", [content], ["path", "edited"]))
        for attempt in range(EDIT_ATTEMPTS):
            try:
                with self._writing, table_errors(self.where):
                    self.table.checkout_latest()
                    self.table.update(where=same, values={"edited": caption})
                    if not self.table.count_rows(f"{same} AND {other}"):
                        break
            except InputError as error:
                if "keep writing" not in str(error) or attempt == EDIT_ATTEMPTS - 1:
                    raise
        if any(row["edited"] != caption for row in before):
            self.history.add(content, min(row["path"] for row in before), caption)
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
            yield from self._latest(
                lambda: (
                    self._filtered(self.table.search(), where)
                    .select(self.existing(columns))
                    .with_row_id(True)
                    .to_batches(8192)
                )
            )

    def _filtered(self, query: Any, where: str) -> Any:
        return query.where(where) if where else query

    def _latest(self, read: Callable[[], Iterable[Any]]) -> Iterator[Any]:
        """What `read` returns, at the latest version if the files of the one in use have been deleted meanwhile."""
        begun = False
        try:
            for one in read():
                begun = True
                yield one
        except RuntimeError as error:
            if begun or "not found" not in str(error).lower():
                raise
            self.table.checkout_latest()
            yield from read()

    def row(self, path: str) -> dict[str, Any] | None:
        """All columns of a photo except its vector; None if it is not in the index."""
        return next(self.having("path", [path], FACTS), None)

    def having(self, column: str, values: Sequence[str], columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Rows whose `column` is one of `values`."""
        for first in range(0, len(values), VALUES_PER_CONDITION):
            condition = f"{column} IN {listed(values[first : first + VALUES_PER_CONDITION])}"
            for batch in self.batches(columns, condition):
                yield from batch.to_pylist()

    def folders(self) -> list[str]:
        """The indexed folders."""
        return sorted({folder for batch in self.batches(["folder"]) for folder in set(batch["folder"].to_pylist())})

    def file_of(self, path: str) -> Path | None:
        """The file of a row; None if the path is not in the index, or the file is not inside its folder any more."""
        found = self.row(path)
        return None if found is None else file_inside(found["path"], found["folder"])

    def compact(self, keep: datetime.timedelta = KEEP_VERSIONS) -> None:
        """Join small pieces, add new rows to the approximate index, and delete versions older than `keep`.

        Given up if others keep writing (captions edited on the page): the next update does it, and nothing is lost.
        """
        for _ in range(COMPACT_ATTEMPTS):
            try:
                with table_errors(self.where):
                    compact_table(self.table, self._saved, TABLE, keep)
                self.history.compact(keep)
                return
            except InputError as error:
                if "keep writing" not in str(error):
                    raise


def open_store(where: str) -> Store:
    """An existing index."""
    try:
        if "://" not in where and not Path(where).is_dir():
            raise FileNotFoundError(where)
        with _explained(where):
            recover_index(where)
            database = _connect(where)
            return Store(where, database.open_table(TABLE), database)
    except InputError:
        raise
    except (ValueError, FileNotFoundError) as error:
        step = Step("index", "FOLDER", out=where)
        raise InputError(f"No index at {where}; make one from a folder of photos first.", step) from error


def store_exists(where: str) -> bool:
    """Whether there is an index. A table that was being made when the power failed has no version yet."""
    if "://" not in where:
        is_there = (Path(where) / f"{TABLE}.lance").is_dir()
        return is_there and (bool(manifests(Path(where))) or Saved(where).read() is None)
    with _explained(where):
        return TABLE in _connect(where).list_tables().tables


def open_or_make(where: str, about: About) -> Store:
    """An index to update, created if necessary; InputError if another matcher made it."""
    with _explained(where):
        recover_index(where)
        if not store_exists(where):
            Saved(where).begin()
        database = _connect(where)
        if not store_exists(where):
            database.create_table(TABLE, schema=schema(about), exist_ok=True)
        store = Store(where, database.open_table(TABLE), database)
    check_matcher(store, about.fingerprint, about.matcher)
    store.add_later_columns()
    return store


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


@contextlib.contextmanager
def _explained(where: str) -> Iterator[None]:
    """Raise an InputError for a place that cannot be reached, read or written; LanceDB has no exception classes."""
    try:
        yield
    except FileNotFoundError:
        raise
    except BaseException as error:
        if not isinstance(error, OSError | RuntimeError) and not is_panic(error):
            raise
        reason = getattr(error, "strerror", None) or str(error).split(", /")[0]
        raise InputError(f"No index can be at {where} ({reason}); fix that or choose another path.") from error


def _connect(where: str) -> Any:
    try:
        lancedb = importlib.import_module("lancedb")
    except ImportError as error:
        raise InputError("An index needs LanceDB; run `pip install lancedb`.") from error
    session = lancedb.Session(index_cache_size_bytes=INDEX_CACHE, metadata_cache_size_bytes=FILE_CACHE)
    return lancedb.connect(where, read_consistency_interval=READ_INTERVAL, session=session)
