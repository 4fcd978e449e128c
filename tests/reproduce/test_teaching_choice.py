"""The way of teaching that a page calls best was chosen on validation, and the page has what the logs say."""

from pathlib import Path

import numpy as np
import pytest

from tellapart.core.files import read_json
from tellapart.papers.ours.grounded_captioning_tables import TEACHING
from tellapart.reproduce.row_recipes import row_hash
from tellapart.training.log import read_log

HOME = Path(__file__).parents[2]
PAGE = HOME / "docs/papers/grounded-captioning.md"
CANDIDATES = 4
LAST = 10
"""Epochs over which attention is averaged."""
ALLOWED = 1.0
"""Of CIDEr that a candidate may lose."""


def validated(name: str) -> tuple[float, ...]:
    """Of a row's runs with logs, averaged: CIDEr of the best epoch, F1_loc and accuracy of the last ones."""
    (wanted,) = (row_hash(row) for row in TEACHING.rows if row.name == name)
    found = []
    for log in (HOME / "measured/results").glob("*/log.jsonl"):
        if read_json(log.parent / "result.json")["recipe_hash"] != wanted:
            continue
        epochs = [row for row in read_log(log) if row["stage"] == "xe" and "f1_loc" in row]
        attention = [np.mean([row[metric] for row in epochs[-LAST:]]) for metric in ("f1_loc", "attention_accuracy")]
        found.append((100 * max(row["cider"] for row in epochs), *attention))
    return tuple(float(value) for value in np.mean(found, axis=0))


def printed() -> dict[str, tuple[float, ...]]:
    lines = PAGE.read_text().split("| | CIDEr, best epoch |")[1].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name.split(" (seeds")[0]: tuple(map(float, figures)) for name, *figures in cells}


def test_the_page_has_what_the_logs_say() -> None:
    table = printed()
    assert len(table) == 1 + CANDIDATES
    for name, figures in table.items():
        assert validated(name) == pytest.approx(figures, abs=0.051), name


def test_the_best_was_chosen_by_the_rule() -> None:
    plain, *_ = validated("not supervised")
    candidates = {name: validated(name) for name in printed() if name != "not supervised"}
    allowed = {name: attention for name, (cider, attention, _) in candidates.items() if cider >= plain - ALLOWED}
    (best,) = (row.name for row in TEACHING.rows if row.recipe.name == "grounded-best-region")
    assert len(allowed) < len(candidates) and max(allowed, key=lambda name: allowed[name]) == best
