"""Checking the database of an index: its pages, the checksum of every row, and the full text."""

from __future__ import annotations

import sqlite3

from tellapart.core.findings import Findings
from tellapart.search.sqlite.connections import Connections
from tellapart.search.sqlite.making import open_database
from tellapart.search.sqlite.schema import SUMMED, TABLES

ADVICE = "restore a backup, or update it with `verify=True`, which encodes every photo again and keeps edited captions"
_WRONG = {
    "photos": f"SELECT path FROM photos WHERE sum IS NOT row_sum({SUMMED})",
    "edits": "SELECT path FROM edits WHERE sum IS NOT row_sum(content, path, caption, saved)",
    "vectors": "SELECT id FROM vectors WHERE id NOT IN (SELECT id FROM photos)",
    "lost": "SELECT path FROM photos WHERE id NOT IN (SELECT id FROM vectors)",
}


def check_database(where: str, found: Findings, repair: bool) -> None:
    """Check pages, rows and full text. repair: make the indexes of the database and the full text again."""
    store = open_database(where)
    with store.connections.reading() as connection:
        broken = [text for (text,) in connection.execute("PRAGMA integrity_check(20)") if text != "ok"]
        wrong = {name: connection.execute(query).fetchall() for name, query in _WRONG.items()}
        there = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master")}
        broken += [f"it lacks: {table}" for table in TABLES if table not in there]
        if broken and repair and not any(wrong.values()):
            broken = _reindexed(connection, broken, found, where)
    if broken:
        found.problem(f"{where} is damaged ({broken[0]}); {ADVICE}.")
    for name, rows in wrong.items():
        if rows:
            found.problem(f"{where} is damaged: {len(rows)} rows ({name}), such as {rows[0][0]}; {ADVICE}.")
    if not found.damaged:
        found.files += 1
    _check_words(store.connections, found, repair)


def _reindexed(connection: sqlite3.Connection, broken: list[str], found: Findings, where: str) -> list[str]:
    """Make the indexes again; what is broken after that."""
    connection.execute("REINDEX")
    left = [text for (text,) in connection.execute("PRAGMA integrity_check(20)") if text != "ok"]
    left += [text for text in broken if text.startswith("it lacks")]
    if not left:
        found.problem(f"{where} had damaged indexes ({broken[0]}).", repaired=True)
    return left


def _check_words(connections: Connections, found: Findings, repair: bool) -> None:
    """Compare the full text with the captions."""
    if found.damaged:
        return
    with connections.reading() as connection:
        try:
            connection.execute("INSERT INTO words(words, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "readonly" in str(error):
                return
            what = f"{connections.where} is damaged: its full text is not that of its captions"
            if repair:
                connection.execute("INSERT INTO words(words) VALUES ('rebuild')")
                found.problem(f"{what}; it was made again.", repaired=True)
            else:
                found.problem(f"{what}; repair it.")
