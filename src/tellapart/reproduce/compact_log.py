"""A training log small enough to be kept with every result: all epochs, some steps, five digits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

STEPS = 60
"""Rows of single steps kept per stage."""


def compact_log(rows: Sequence[dict[str, Any]]) -> str:
    """The log as JSON lines: every row that ends an epoch, and at most `STEPS` others per stage, evenly spread and with
    the first and the last. Compacting twice changes nothing."""
    kept = set(_epochs(rows))
    for stage in dict.fromkeys(row.get("stage") for row in rows):
        steps = [place for place, row in enumerate(rows) if row.get("stage") == stage and place not in kept]
        kept |= set(_spread(steps, STEPS))
    return "".join(json.dumps(_rounded(rows[place])) + "\n" for place in sorted(kept))


def _epochs(rows: Sequence[dict[str, Any]]) -> list[int]:
    """Places of the rows that end an epoch: they have means."""
    return [place for place, row in enumerate(rows) if any(name.startswith("mean_") for name in row)]


def _spread(places: list[int], most: int) -> list[int]:
    """At most this many places, evenly spread.

    >>> _spread([0, 1, 2, 3, 4, 5, 6], 3)
    [0, 3, 6]
    """
    if len(places) <= most:
        return places
    return [places[round(index * (len(places) - 1) / (most - 1))] for index in range(most)]


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {name: float(f"{value:.5g}") if isinstance(value, float) else value for name, value in row.items()}
