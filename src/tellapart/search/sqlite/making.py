"""Making and opening the database of an index."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from tellapart.core.errors import Error, InputError
from tellapart.core.explained import explained, reason
from tellapart.core.files import make_folder
from tellapart.search.location import DATABASE
from tellapart.search.sqlite.connections import Connections, connect
from tellapart.search.sqlite.schema import APPLICATION, FORM, PAGE, TABLES, has_full_text, row_sum
from tellapart.search.sqlite.sqlite_store import SqliteStore
from tellapart.search.table import About
from tellapart.search.table_errors import table_errors


def database_exists(where: str) -> bool:
    """Whether the database has tables: one that was being made when the power failed has none."""
    with table_errors(where), contextlib.closing(connect(Path(where))) as connection:
        return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def open_database(where: str) -> SqliteStore:
    """The index in a folder, which has a database."""
    connections = Connections(where)
    with connections.reading() as connection:
        form = _form(where, connection)
        if form > FORM:
            raise InputError(f"The index {where} was made by a later version; use that one.")
        about, stored = connection.execute("SELECT about, sum FROM state").fetchone()
    with explained(f"The index {where}", "copy it again from where it is whole, or make it again"):
        if row_sum(about) != stored:
            raise ValueError("what it says about its models is damaged")
        return SqliteStore(where, connections, About(**json.loads(about)))


def make_database(where: str, about: About, name: str = DATABASE) -> SqliteStore:
    """The index in a folder; folder and database are created if necessary."""
    folder = Path(where)
    with _explained(where):
        make_folder(folder)
    with table_errors(where, writing=True), contextlib.closing(connect(folder, make=True, name=name)) as connection:
        if not has_full_text(connection):
            raise InputError("An index needs SQLite with FTS5; install a Python whose sqlite3 has it.")
        connection.execute(f"PRAGMA page_size = {PAGE}")
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for table in TABLES:
                connection.execute(table)
            text = json.dumps(asdict(about))
            connection.execute("INSERT INTO state VALUES (1, ?, 1, 1, '', ?)", (text, row_sum(text)))
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORM}")
        connection.execute("COMMIT")
    return open_database(where)


def _form(where: str, connection: sqlite3.Connection) -> int:
    (application,), (form,) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    if application != APPLICATION:
        raise InputError(f"The database in {where} is not an index of tellapart; make an index elsewhere.")
    return int(form)


@contextlib.contextmanager
def _explained(where: str) -> Iterator[None]:
    """Raise an InputError for a place that cannot be reached or written."""
    try:
        yield
    except Error:
        raise
    except OSError as error:
        raise InputError(f"No index can be at {where} ({reason(error)}); fix that or choose another path.") from error
