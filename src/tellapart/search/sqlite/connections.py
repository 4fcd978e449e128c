"""Connections to the database of an index: one per thread that reads or writes at the moment."""

from __future__ import annotations

import contextlib
import datetime
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from tellapart.search.location import DATABASE
from tellapart.search.sqlite.conditions import contains, within
from tellapart.search.sqlite.schema import row_sum
from tellapart.search.table_errors import table_errors

PATIENCE = 30.0
"""Seconds to wait for others that write."""
CACHE_KB = 1_000
"""Of each connection."""


class Connections:
    """Connections are kept for the next reader. Each writes with a rollback journal, and flushes it to the disk."""

    def __init__(self, where: str) -> None:
        self.where = where
        self._free: list[sqlite3.Connection] = []
        self._writing = threading.Lock()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection; whoever has it must fetch all rows of a query at once, since an open query stops writers."""
        with table_errors(self.where):
            connection = self._take()
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            self._free.append(connection)

    @contextlib.contextmanager
    def writing(self, *, photos: bool = True) -> Iterator[sqlite3.Connection]:
        """A transaction, which is on the disk when the block ends; after an error, nothing of it is there.

        photos: whether it changes more than edited captions.
        """
        with self._writing, table_errors(self.where, writing=True):
            connection = self._take()
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                now = datetime.datetime.now(datetime.UTC).isoformat()
                connection.execute("UPDATE state SET version = version + 1, photos = photos + ?, changed = ?",
                                   (photos, now))  # fmt: skip
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # the next reader undoes what is left
                    connection.execute("ROLLBACK")
                connection.close()
                raise
            self._free.append(connection)

    def close(self) -> None:
        """Close the connections that nobody uses."""
        with contextlib.suppress(IndexError):
            while True:
                self._free.pop().close()

    def _take(self) -> sqlite3.Connection:
        """A connection that nobody uses; another thread may take the last one between a question and an answer."""
        try:
            return self._free.pop()
        except IndexError:
            return connect(Path(self.where))


def connect(folder: Path, *, make: bool = False, name: str = DATABASE) -> sqlite3.Connection:
    """A connection to the database in a folder. make: create it."""
    address = f"file:{quote(str((folder / name).absolute()))}?mode={'rwc' if make else 'rw'}"
    connection = sqlite3.connect(address, PATIENCE, isolation_level=None, check_same_thread=False, uri=True)
    try:
        # EXTRA: a power failure right after a commit does not bring the journal back, which would undo it.
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        connection.create_function("row_sum", -1, row_sum, deterministic=True)
        connection.create_function("contains", 2, contains, deterministic=True)
        connection.create_function("within", 5, within, deterministic=True)
    except BaseException:
        connection.close()
        raise
    return connection
