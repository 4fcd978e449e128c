"""Photos whose captions contain words of a query, by LanceDB's full-text index: people's captions and generated ones.

LanceDB compares stems (whisker, whiskers) without accents and stop words. Rows that were written after the index was
built are compared one by one until the next update adds them, so that a caption edited a moment ago is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tellapart.search.filters import Filters
from tellapart.search.lance.conditions import condition
from tellapart.search.table import CAPTIONS, Row
from tellapart.search.table_errors import table_errors

if TYPE_CHECKING:
    from tellapart.search.lance.lance_store import LanceStore


def build_text_indexes(store: LanceStore) -> None:
    """Make the full-text indexes that a table lacks."""
    from lancedb.index import FTS

    with table_errors(store.where):
        there = {tuple(one.columns) for one in store.table.list_indices()}
        for column in CAPTIONS:
            if (column,) not in there:
                config = FTS(stem=True, remove_stop_words=True, ascii_folding=True, with_position=False)
                store.table.create_index(column, config=config)


def rows_with_words(
    store: LanceStore, words: Sequence[str], columns: Sequence[str], count: int, filters: Filters
) -> list[Row]:
    """The rows whose captions match the words best, each once."""
    rows: dict[str, Row] = {}
    if not words:
        return []
    where, wanted = condition(filters), [*store.existing(columns), "_score"]
    for column in store.existing(CAPTIONS):
        with table_errors(store.where):
            request = store.table.search(" ".join(words), query_type="fts", fts_columns=column).limit(count)
            found = (request.where(where, prefilter=True) if where else request).select(wanted).to_list()
        for row in found:
            rows.setdefault(row["path"], row)
    return list(rows.values())
