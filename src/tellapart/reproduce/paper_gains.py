"""How large a paper's own gains are, so that a claim can be judged by its size and not by its sign alone."""

from __future__ import annotations

from collections.abc import Callable

from tellapart.reproduce.table import Check, Greater, Row, Table, as_rows


def paper_gains(table: Table) -> Callable[[Check], float | None]:
    """For a check, the paper's difference between its rows: the smallest positive one of its data sets, if any.

    The smallest is the mildest demand on ours.
    """
    rows = {row.name: row for row in table.rows}
    places = {column.name: place for place, column in enumerate(table.columns)}

    def gain(check: Check) -> float | None:
        if not isinstance(check, Greater) or check.column not in places:
            return None
        named = [[rows[name] for name in as_rows(side) if name in rows] for side in (check.better, check.worse)]
        if any(len(found) < len(as_rows(side)) for found, side in zip(named, (check.better, check.worse))):
            return None
        better, worse = (_means(found, places[check.column]) for found in named)
        gaps = [better[data] - worse[data] for data in better.keys() & worse.keys()]
        return min((gap for gap in gaps if gap > 0), default=None)

    return gain


def _means(rows: list[Row], place: int) -> dict[str, float]:
    """The mean of the paper's values of some rows in a column, by data set; only where it has them all."""
    found: dict[str, float] = {}
    for data in set.intersection(*(set(row.published) for row in rows)) if rows else set():
        values = [row.published[data][place] if place < len(row.published[data]) else None for row in rows]
        known = [value for value in values if value is not None]
        if len(known) == len(rows):
            found[data] = sum(known) / len(known)
    return found
