"""The table of an index, on LanceDB: one row a photo. Every change is one transaction: there whole, or not at all.

path      absolute; the key                 vector    float16, of length one
folder    the indexed folder it lies in     caption   the captioner's words
size, modified, content (a hash)            edited    a person's words, which go before the captioner's
width, height, taken (EXIF's date)

The table's metadata hold the run's fingerprint, so that vectors of two matchers never meet in one table.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tellapart.core.errors import InputError, Step

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = "pictures"
FACTS = ("path", "folder", "size", "modified", "content", "width", "height", "taken", "caption", "edited")
LOOK_AGAIN = datetime.timedelta(seconds=2)
"""How long a reader may go without noticing what another process wrote."""
TIDY_TRIES, EDIT_TRIES = 5, 5
SOME = 1000
"""Paths or hashes in one condition."""


@dataclass(frozen=True)
class About:
    """What an index must know of itself."""

    fingerprint: str
    matcher: str
    captioner: str
    width: int


class Store:
    """An opened index. One process writes at a time; any number read."""

    def __init__(self, where: str, table: Any) -> None:
        self.where, self.table = where, table
        about = (table.schema.metadata or {}).get(b"tellapart")
        if about is None:
            raise InputError(f"The table in {where} was not made by `tellapart index`; make an index elsewhere.")
        self.about = About(**json.loads(about))

    def __len__(self) -> int:
        return int(self.table.count_rows())

    @property
    def version(self) -> int:
        return int(self.table.version)

    def schema(self) -> pa.Schema:
        return self.table.schema

    def add(self, rows: pa.Table) -> None:
        """Rows whose paths are not in the table yet."""
        if rows.num_rows:
            self.table.add(rows)

    def put(self, rows: pa.Table) -> None:
        """Rows that take the place of those with the same paths, but for what people wrote: that may be newer."""
        if rows.num_rows:
            self.table.merge_insert("path").when_matched_update_all().execute(rows.drop_columns("edited"))

    def delete(self, paths: Sequence[str]) -> None:
        for first in range(0, len(paths), SOME):
            self.table.delete(f"path IN {listed(paths[first : first + SOME])}")

    def edit(self, path: str, words: str | None) -> None:
        """A person's caption of a file; None goes back to the captioner's."""
        if not self.table.update(where=f"path = {quoted(path)}", values={"edited": words}).rows_updated:
            raise InputError(f"{path} is not in the index {self.where}.")

    def edit_unless_changed(self, path: str, before: str | None, words: str | None) -> None:
        """The same where the file still has the words it had `before`: what was written since is newer than ours."""
        still = "edited IS NULL" if before is None else f"edited = {quoted(before)}"
        self.table.update(where=f"path = {quoted(path)} AND {still}", values={"edited": words})

    def edit_copies(self, content: str, words: str | None) -> None:
        """A person's caption for every copy of a photo, those that `tellapart index` brings in just now among them."""
        same = f"content = {quoted(content)}"
        other = "edited IS NOT NULL" if words is None else f"(edited IS NULL OR edited != {quoted(words)})"
        for _ in range(EDIT_TRIES):
            self.table.checkout_latest()
            self.table.update(where=same, values={"edited": words})
            if not self.table.count_rows(f"{same} AND {other}"):
                return

    def batches(self, columns: Sequence[str], where: str = "") -> Iterator[pa.RecordBatch]:
        """Columns of all rows (or of those that meet a condition) with `_rowid`, a piece at a time."""
        query = self.table.search().select(list(columns)).with_row_id(True)
        yield from (query.where(where) if where else query).to_batches(8192)

    def row(self, path: str) -> dict[str, Any] | None:
        """All of a photo but its vector; None where it is not in the index."""
        return next(self.having("path", [path], FACTS), None)

    def having(self, column: str, values: Sequence[str], columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Rows whose `column` is one of `values`."""
        for first in range(0, len(values), SOME):
            for batch in self.batches(columns, f"{column} IN {listed(values[first : first + SOME])}"):
                yield from batch.to_pylist()

    def folders(self) -> list[str]:
        return sorted({folder for batch in self.batches(["folder"]) for folder in set(batch["folder"].to_pylist())})

    def file_of(self, path: str) -> Path | None:
        """The file behind a row, if it is in the index and still lies inside its folder; None otherwise."""
        found = self.row(path)
        return None if found is None else inside(found["path"], found["folder"])

    def tidy(self) -> None:
        """Join small pieces, bring new rows into the ANN index, and drop what older versions left behind.

        Put off where others keep writing (captions mended on the page): the next run does it, and nothing is lost.
        """
        for _ in range(TIDY_TRIES):
            try:
                self.table.optimize(cleanup_older_than=datetime.timedelta(hours=1))
                return
            except RuntimeError as error:  # LanceDB has no kind of its own for it
                if "commit conflict" not in str(error):
                    raise


def inside(path: str, folder: str) -> Path | None:
    """The file, its links followed, if it is one and lies in the folder."""
    # Asked for every photo of an index, so by strings: pathlib would take twice as long.
    file, root = os.path.realpath(path), os.path.realpath(folder)
    return Path(file) if file.startswith(os.path.join(root, "")) and os.path.isfile(file) else None


def open_store(where: str) -> Store:
    """An index that is there."""
    try:
        if "://" not in where and not Path(where).is_dir():
            raise FileNotFoundError(where)
        with _said(where):
            return Store(where, _connect(where).open_table(TABLE))
    except InputError:
        raise
    except (ValueError, FileNotFoundError) as error:
        raise InputError(
            f"No index at {where}; update it with a folder of photos first.", Step("index", "FOLDER", out=where)
        ) from error


def store_exists(where: str) -> bool:
    """Whether there is an index; an address of object storage is asked by opening it."""
    if "://" not in where:
        return (Path(where) / f"{TABLE}.lance").is_dir()
    with _said(where):
        return TABLE in _connect(where).list_tables().tables


def open_or_make(where: str, about: About) -> Store:
    """An index to fill; one that another matcher filled is refused."""
    with _said(where):
        store = _opened_or_made(where, about)
    reject_others(store, about.fingerprint, about.matcher)
    return store


def _opened_or_made(where: str, about: About) -> Store:
    import pyarrow as pa

    database = _connect(where)
    if TABLE not in database.list_tables().tables:
        schema = pa.schema(
            [
                ("path", pa.string()),
                ("folder", pa.string()),
                ("size", pa.int64()),
                ("modified", pa.int64()),
                ("content", pa.string()),
                ("width", pa.int32()),
                ("height", pa.int32()),
                ("taken", pa.timestamp("s")),
                ("caption", pa.string()),
                ("edited", pa.string()),
                ("vector", pa.list_(pa.float16(), about.width)),
            ],
            metadata={"tellapart": json.dumps(about.__dict__)},
        )
        database.create_table(TABLE, schema=schema, exist_ok=True)
    return Store(where, database.open_table(TABLE))


@contextlib.contextmanager
def _said(where: str) -> Iterator[None]:
    """A place that cannot be reached, read or written gets a sentence; LanceDB has no errors of its own kind."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error).split(", /")[0]
        raise InputError(f"There can be no index at {where} ({reason}); name another place, or mend that.") from error


def reject_others(store: Store, fingerprint: str, matcher: str) -> None:
    if store.about.fingerprint != fingerprint:
        raise InputError(
            f"The index {store.where} was made by another matcher ({store.about.matcher}) than {matcher}: their "
            f"vectors cannot be compared. Give that one with --matcher, or make a new index."
        )


def _connect(where: str) -> Any:
    try:
        lancedb = importlib.import_module("lancedb")
    except ImportError as error:
        raise InputError("An index needs LanceDB; run `pip install tellapart[search]`.") from error
    return lancedb.connect(where, read_consistency_interval=LOOK_AGAIN)


def quoted(text: str) -> str:
    """A text in a condition.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def listed(texts: Iterable[str]) -> str:
    return "(" + ", ".join(map(quoted, texts)) + ")"


def under(folder: str) -> str:
    """The condition that a photo lies in a folder, however deep."""
    return f"starts_with(path, {quoted(folder.rstrip('/') + '/')})"
