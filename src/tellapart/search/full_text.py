"""Photos whose captions contain words of a query, by LanceDB's full-text index: people's captions and generated ones.

LanceDB compares stems (whisker, whiskers) without accents and stop words. Rows that were written after the index was
built are compared one by one until the next update adds them, so that a caption edited a moment ago is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tellapart.search.filters import Filters
from tellapart.search.store import Store
from tellapart.search.table_errors import table_errors

OWN = ("edited", "described")
"""Columns that people wrote."""
COLUMNS = (*OWN, "caption")


def build_text_indexes(store: Store) -> None:
    """Make the full-text indexes that a table lacks."""
    from lancedb.index import FTS

    with table_errors(store.where):
        there = {tuple(one.columns) for one in store.table.list_indices()}
        for column in COLUMNS:
            if (column,) not in there:
                config = FTS(stem=True, remove_stop_words=True, ascii_folding=True, with_position=False)
                store.table.create_index(column, config=config)


def rows_with_words(
    store: Store, words: Sequence[str], columns: Sequence[str], count: int, filters: Filters
) -> list[dict[str, Any]]:
    """The rows whose captions match the words best, with all `columns` and `_score`, each once."""
    rows: dict[str, dict[str, Any]] = {}
    if not words:
        return []
    condition, wanted = filters.condition(), [*store.existing(columns), "_score"]
    for column in store.existing(COLUMNS):
        with table_errors(store.where):
            request = store.table.search(" ".join(words), query_type="fts", fts_columns=column).limit(count)
            found = (request.where(condition, prefilter=True) if condition else request).select(wanted).to_list()
        for row in found:
            rows.setdefault(row["path"], row)
    return list(rows.values())


def captions_of_people(store: Store) -> list[str]:
    """The captions that people wrote."""
    columns = store.existing(OWN)
    condition = " OR ".join(f"{column} IS NOT NULL" for column in columns)
    return [text for batch in store.batches(columns, condition) for name in columns
            for text in batch[name].to_pylist() if text]  # fmt: skip
