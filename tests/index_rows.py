"""Rows of an index as tests compare and change them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tellapart.search.protocol import Store
from tellapart.search.sqlite.sqlite_store import SqliteStore
from tellapart.search.table import FACTS


def all_rows(store: Store) -> list[dict[str, Any]]:
    """Every row with every column; vectors are lists."""
    return [{**row, "vector": row["vector"].tolist()} for row in store.rows([*FACTS, "vector"])]


def by_name(store: Store) -> dict[str, dict[str, Any]]:
    """The same by the name of the file."""
    return {Path(row["path"]).name: row for row in all_rows(store)}


def set_columns(store: Store, where: str, **values: Any) -> None:
    """Change rows that meet a condition in SQL, past everything that would notice."""
    assert isinstance(store, SqliteStore)
    with store.connections.writing() as connection:
        changed = ", ".join(f"{name} = ?" for name in values)
        connection.execute(f"UPDATE photos SET {changed} WHERE {where}", list(values.values()))
