"""Values of photos as SQLite keeps them, and back."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tellapart.search.table import FACTS, Row

STORED: dict[str, Callable[[Any], Any]] = {
    "taken": lambda value: value.isoformat(" ", "seconds"),
    "sure": int,
    "size": int,
    "modified": int,
    "width": int,
    "height": int,
    "confidence": float,
    "latitude": float,
    "longitude": float,
}
READ: dict[str, Callable[[Any], Any]] = {
    "taken": datetime.datetime.fromisoformat,
    "sure": bool,
    "vector": lambda value: np.frombuffer(value, "<f2").astype(np.float32),
}


def stored(name: str, value: Any) -> Any:
    """A value as it is stored."""
    change = STORED.get(name)
    return value if change is None or value is None else change(value)


def stored_facts(row: Row) -> list[Any]:
    """All values of a row but its vector, in the order of the columns."""
    return [stored(name, row.get(name)) for name in FACTS]


def stored_vector(vector: Any) -> bytes:
    """A vector [E] as bytes."""
    return np.asarray(vector, "<f2").tobytes()


def read_rows(columns: Sequence[str], found: Iterable[Sequence[Any]]) -> list[Row]:
    """Rows of a query for some columns."""
    changes = [(place, READ[name]) for place, name in enumerate(columns) if name in READ]
    rows = []
    for values in found:
        row = dict(zip(columns, values))
        for place, change in changes:
            if values[place] is not None:
                row[columns[place]] = change(values[place])
        rows.append(row)
    return rows


def as_matrix(vectors: Sequence[bytes], width: int) -> np.ndarray:
    """Stored vectors as [N, E] float32."""
    if any(len(vector) != 2 * width for vector in vectors):
        raise ValueError(f"a vector has not {width} numbers")
    return np.frombuffer(b"".join(vectors), "<f2").reshape(len(vectors), width).astype(np.float32)
