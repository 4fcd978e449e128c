"""A copy of a database that others may write at the moment."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from tellapart.search.location import DATABASE
from tellapart.search.sqlite.connections import connect
from tellapart.search.table_errors import table_errors


def copy_database(where: str, folder: Path) -> None:
    """Write the database of an index, as it is at one moment, into another folder."""
    closing = contextlib.closing
    with table_errors(where), closing(connect(Path(where))) as source, closing(_new(folder)) as target:
        source.backup(target)


def _new(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / DATABASE)
