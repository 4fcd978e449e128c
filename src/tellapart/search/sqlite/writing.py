"""The changes of an index, each inside a transaction that its caller begins and ends."""

from __future__ import annotations

import contextlib
import datetime
import sqlite3
from collections.abc import Sequence

from tellapart.search.sqlite.schema import SUMMED, row_sum
from tellapart.search.sqlite.values import stored, stored_facts, stored_vector
from tellapart.search.table import FACTS, Row

FEW_PAGES = 1_000
"""A database that has no more free pages keeps them."""
_MARKS = ", ".join("?" * len(FACTS))
_REPLACED = ", ".join(f"{name} = excluded.{name}" for name in FACTS if name not in ("path", "edited"))
_PUT = (
    f"INSERT INTO photos ({', '.join(FACTS)}) VALUES ({_MARKS}) ON CONFLICT (path) DO UPDATE SET {_REPLACED}, "
    "edited = coalesce(photos.edited, excluded.edited) RETURNING id"
)


def put_rows(connection: sqlite3.Connection, rows: Sequence[Row], sources: dict[str, Row]) -> None:
    """Add rows, or replace those with the same path. A row that has an edited caption keeps it.

    A copy takes the edited caption that its source has now: it may be newer than what was read before.
    """
    for row in rows:
        source = sources.get(row["content"])
        if source is not None:
            now = connection.execute("SELECT edited FROM photos WHERE path = ?", [source["path"]]).fetchone()
            row = {**row, "edited": now[0]} if now else row
        ((id_,),) = connection.execute(_PUT, stored_facts(row)).fetchall()
        connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (id_, stored_vector(row["vector"])))
        _sum(connection, "id", id_)


def put_columns(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Replace some columns of rows, which are found by their path."""
    for row in rows:
        values = {name: value for name, value in row.items() if name != "path"}
        if "vector" in values:
            put = "UPDATE vectors SET vector = ? WHERE id = (SELECT id FROM photos WHERE path = ?)"
            connection.execute(put, (stored_vector(values.pop("vector")), row["path"]))
        if values:
            changed = ", ".join(f"{name} = ?" for name in values)
            given = [stored(name, value) for name, value in values.items()]
            connection.execute(f"UPDATE photos SET {changed} WHERE path = ?", [*given, row["path"]])
        _sum(connection, "path", row["path"])


def delete(connection: sqlite3.Connection, paths: Sequence[str]) -> None:
    """Delete rows; the captions that people wrote stay in the history."""
    for path in paths:
        connection.execute("DELETE FROM vectors WHERE id = (SELECT id FROM photos WHERE path = ?)", [path])
        connection.execute("DELETE FROM photos WHERE path = ?", [path])


def edit(connection: sqlite3.Connection, column: str, value: str, caption: str | None) -> bool:
    """Set the edited caption of rows, found by path or content, and remember it; whether there are any."""
    before = connection.execute(f"SELECT path, content, edited FROM photos WHERE {column} = ?", [value]).fetchall()
    if any(edited != caption for _, _, edited in before):
        connection.execute(f"UPDATE photos SET edited = ? WHERE {column} = ?", [caption, value])
        _sum(connection, column, value)
        path, content, _ = min(before)
        remember(connection, content, path, caption, datetime.datetime.now(datetime.UTC))
    return bool(before)


def remember(
    connection: sqlite3.Connection, content: str, path: str, caption: str | None, saved: datetime.datetime
) -> None:
    """Add an edit to the history."""
    values = [content, path, caption, saved.isoformat()]
    connection.execute(
        "INSERT INTO edits (content, path, caption, saved, sum) VALUES (?, ?, ?, ?, ?)", [*values, row_sum(*values)]
    )


def vacuum(connection: sqlite3.Connection) -> None:
    """Write the database again, without the space of deleted rows; put off while others use it, or without space."""
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute("VACUUM")


def _sum(connection: sqlite3.Connection, column: str, value: str | int) -> None:
    connection.execute(f"UPDATE photos SET sum = row_sum({SUMMED}) WHERE {column} = ?", [value])
