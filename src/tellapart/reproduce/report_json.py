"""A filled table as JSON."""

from __future__ import annotations

import math
from typing import Any

from tellapart.reproduce.fill import Filled
from tellapart.reproduce.report_markdown import command, notes
from tellapart.reproduce.statistics import Estimate


def as_plain(filled: Filled) -> dict[str, Any]:
    """The table as plain values, for programs."""
    table, data = filled.table, filled.data
    rows = []
    for row in table.rows:
        cells: dict[str, Any] = {}
        for place, column in enumerate(table.columns):
            cell = filled.cells.get((row.name, column.name))
            own = None if cell is None else cell.estimate()
            published = {name: values[place] for name, values in row.published.items() if place < len(values)}
            cells[column.name] = {
                **(_plain(own) or {"value": None}),
                "runs": {} if cell is None else dict(cell.values),
                "published": published,
            }
        rows.append({"name": row.name, "recipe": row.recipe.name, "overrides": list(row.overrides), "cells": cells})
    return {
        "table": table.name,
        "paper": table.paper,
        "title": table.title,
        "data": {
            "pack": data.pack,
            "fingerprint": data.fingerprint,
            "features": dict(data.features),
            "share_of_epochs": data.share,
        },
        "notes": notes(filled),
        "rows": rows,
        "missing": dict(filled.missing),
        "claims": [
            {
                "text": checked.claim.text,
                "verdict": checked.verdict,
                "checks": [
                    {"text": check.text, "verdict": check.verdict, **(_plain(check.estimate) or {"value": None})}
                    for check in checked.checks
                ],
            }
            for checked in filled.claims
        ],
        "curves": [
            {"row": row, "curve": title, "points": [list(point) for point in points]}
            for (row, title), points in filled.curves.items()
        ],
        "command": command(filled),
    }


def _plain(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    numbers = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {**{name: None if math.isnan(v) else v for name, v in numbers.items()}, "how": estimate.how}
