"""Reading a table of LanceDB batch by batch, and the rows of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart.search.lance import ann
from tellapart.search.table import Row

if TYPE_CHECKING:
    import pyarrow as pa

AT_ONCE = 8192
"""Rows of a batch."""


def read_batches(table: Any, columns: Sequence[str], where: str = "") -> Iterator[pa.RecordBatch]:
    """Columns of all rows, or of those that meet a condition, with `_rowid`."""

    def read() -> Iterable[pa.RecordBatch]:
        query = table.search()
        query = query.where(where) if where else query
        batches: Iterable[pa.RecordBatch] = query.select(columns).with_row_id(True).to_batches(AT_ONCE)
        return batches

    return _latest(table, read)


def _latest(table: Any, read: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """What `read` returns, at the latest version if the files of the one in use have been deleted meanwhile."""
    begun = False
    try:
        for one in read():
            begun = True
            yield one
    except RuntimeError as error:
        if begun or "not found" not in str(error).lower():
            raise
        table.checkout_latest()
        yield from read()


def rows_of(batch: pa.RecordBatch, width: int) -> list[Row]:
    """Rows of a batch, without `_rowid`; width: of vectors."""
    names = [name for name in batch.schema.names if name not in ("vector", "_rowid")]
    rows: list[Row] = batch.select(names).to_pylist() if names else [{} for _ in range(batch.num_rows)]
    if "vector" in batch.schema.names:
        for row, vector in zip(rows, ann.as_matrix(batch["vector"], width)):
            row["vector"] = vector
    return rows


def ids_of(batch: pa.RecordBatch) -> np.ndarray:
    """Ids [N] int64 of the rows of a batch."""
    return np.asarray(batch["_rowid"].to_numpy()).astype(np.int64)
