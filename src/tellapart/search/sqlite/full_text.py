"""Photos whose captions contain words, by SQLite's full-text index: people's captions and generated ones.

Stems are compared (whisker, whiskers), without accents. A caption is found as soon as it is edited.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from tellapart.search.filters import Filters
from tellapart.search.sqlite.conditions import condition
from tellapart.search.table import CAPTIONS


def matching_ids(connection: sqlite3.Connection, words: Sequence[str], count: int, filters: Filters) -> list[int]:
    """Ids of at most `count` photos per column of captions, best first, each once."""
    if not words:
        return []
    any_word = " OR ".join('"' + word.replace('"', '""').replace("\0", " ") + '"' for word in words)
    where, values = condition(filters)
    found: dict[int, None] = {}
    for column in CAPTIONS:
        rows = connection.execute(
            f"SELECT words.rowid FROM words JOIN photos ON photos.id = words.rowid WHERE words MATCH ? AND {where} "
            "ORDER BY words.rank LIMIT ?",
            [f"{column} : ({any_word})", *values, count],
        ).fetchall()
        found.update((id_, None) for (id_,) in rows)
    return list(found)
