"""The table of an index in LanceDB: its columns, and texts in conditions on them.

The metadata of the table hold what is known about the models.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from tellapart.search.table import About, Row

if TYPE_CHECKING:
    import pyarrow as pa

LATER = {
    "confidence": "cast(NULL as float)",
    "sure": "cast(NULL as boolean)",
    "camera": "cast(NULL as string)",
    "latitude": "cast(NULL as double)",
    "longitude": "cast(NULL as double)",
    "described": "cast(NULL as string)",
}
"""Columns that the first indexes did not have, with their value in old rows."""


def schema(about: About) -> pa.Schema:
    """Columns and metadata of a new table."""
    import pyarrow as pa

    columns = [
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
        ("confidence", pa.float32()),
        ("sure", pa.bool_()),
        ("camera", pa.string()),
        ("latitude", pa.float64()),
        ("longitude", pa.float64()),
        ("described", pa.string()),
        ("vector", pa.list_(pa.float16(), about.width)),
    ]
    return pa.schema(columns, metadata={"tellapart": json.dumps(asdict(about))})


def as_table(rows: Sequence[Row], schema: pa.Schema, width: int) -> pa.Table:
    """Rows as a table with these columns; vectors have `width` numbers."""
    import pyarrow as pa

    vectors = np.asarray([row["vector"] for row in rows], np.float16).reshape(len(rows), width)
    flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), width)
    columns = {
        name: flat if name == "vector" else pa.array([row.get(name) for row in rows], schema.field(name).type)
        for name in schema.names
    }
    return pa.table(columns, schema=schema)


def quoted(text: str) -> str:
    """A text in a condition.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def listed(texts: Iterable[str]) -> str:
    """Several texts in a condition.

    >>> listed(["a", "b"])
    "('a', 'b')"
    """
    return "(" + ", ".join(map(quoted, texts)) + ")"


def under(folder: str) -> str:
    """The condition that a photo lies inside a folder, at any depth."""
    return f"starts_with(path, {quoted(folder.rstrip('/') + '/')})"
