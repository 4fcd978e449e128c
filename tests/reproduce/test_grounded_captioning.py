"""Grounded captioning's tables name recipes, fields and rows that exist, and their measure gives what they show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from grounded_world import grounded_pack
from tellapart.data.feature_store import FeatureStore
from tellapart.models.captioners.up_down import UpDown
from tellapart.models.matchers.scan import SCAN
from tellapart.papers.grounded_captioning.recipes import PUBLISHED as EXPECTED
from tellapart.papers.grounded_captioning.tables import FIGURE3, PUBLISHED, TABLE2
from tellapart.papers.recipes import find_recipe
from tellapart.papers.tables import find_tables
from tellapart.reproduce.derived_measures import DERIVED
from tellapart.reproduce.draws import bootstrap_draws
from tellapart.reproduce.fill import Data, Filled
from tellapart.reproduce.grounding_measure import measure_grounding
from tellapart.reproduce.measures import MEASURES
from tellapart.reproduce.plots import draw_svg
from tellapart.reproduce.statistics import Cell
from tellapart.reproduce.table import Table, rows_of
from tellapart.runs.overrides import override
from tellapart.runs.recipe import Recipe
from tellapart.runs.run import Run, describe_run


@pytest.mark.parametrize("table", find_tables(["grounded-captioning/*"]), ids=lambda table: table.name)
def test_rows_and_claims_can_be_made(table: Table) -> None:
    for row in table.rows:
        override(row.recipe, row.overrides)
        assert all(len(figures) == len(table.columns) for figures in row.published.values())
    names = {row.name for row in table.rows}
    assert len(names) == len(table.rows)
    for claim in table.claims:
        assert rows_of(claim) <= names
        assert {check.column for check in claim.checks} <= {column.name for column in table.columns}
    for column in table.columns:
        source = DERIVED[column.measure].source if column.measure in DERIVED else column.measure
        assert source in MEASURES or source == "captions"


def test_the_paper_is_copied_once() -> None:
    """Recipes and table print the same figures: CIDEr, F1_all, F1_loc."""
    assert {
        f"{taught}-{paid}".rstrip("-"): (row[3], row[5], row[6]) for (taught, paid), row in PUBLISHED.items()
    } == EXPECTED
    assert sum(bool(row.published) for row in TABLE2.rows) == 16


def test_figure_3_is_drawn() -> None:
    """Four panels of what was run, a line a teacher; a teacher of whom nothing was run still begins at lambda_1 = 0."""
    rows = {row.name for row in FIGURE3.rows}
    assert FIGURE3.sweep is not None and {row for line in FIGURE3.sweep.lines.values() for _, row in line} == rows
    assert [value for value, _ in FIGURE3.sweep.lines["SCAN"]] == [0, 0.02, 0.05, 0.1, 0.2, 0.5, 1]
    columns = [column.name for column in FIGURE3.columns if column.name != "S"]
    cells = {
        (row, column): Cell({0: value}, {} if column == "C" else {0: np.asarray([value - 1, value + 2])})
        for row, value in (("lambda_1 = 0", 5.0), ("POS-SCAN, lambda_1 = 0.1", 7.0))
        for column in columns
    }
    filled = Filled(FIGURE3, Data("scenes", "", {}), cells, (), {}, {}, {})
    drawn = draw_svg(filled)
    assert drawn == draw_svg(filled)
    assert all(f"<!-- {name} -->" in drawn for name in (*columns, "lambda_1", "POS-SCAN", "SCAN", "GT"))
    assert "<!-- S -->" not in drawn
    assert draw_svg(Filled(FIGURE3, Data("scenes", "", {}), {}, (), {}, {}, {})) == ""
    assert draw_svg(Filled(TABLE2, Data("scenes", "", {}), {}, (), {}, {}, {})) == ""


@pytest.mark.parametrize("model", [UpDown(hidden=8, attention=8), SCAN(8, 8, nouns=True)])
def test_the_measure(model: UpDown | SCAN, tmp_path: Path) -> None:
    pack = grounded_pack(tmp_path / "pack")
    store = FeatureStore(pack.feature_folder("regions"))
    recipe = find_recipe("pos-scan" if isinstance(model, SCAN) else "up-down")
    describe_run(tmp_path / "run", recipe, pack, store)
    measured = measure_grounding(_run(tmp_path / "run", recipe, model, pack.folder), pack, "val", "cpu")
    drawn = bootstrap_draws("attention_accuracy", measured.items)
    assert drawn is not None and np.percentile(drawn, 0) <= measured.values["attention_accuracy"] + 1e-3
    if isinstance(model, SCAN):
        assert "said" not in measured.items and "f1_all" not in measured.values
    else:
        later = DERIVED["greedy-text-metrics"].compute(measured.items, pack, "regions", frozenset({"cider"}))
        assert {"bleu1", "bleu4", "cider"} <= set(later.values)
    bounds = DERIVED["regions"].compute(measured.items, pack, "regions", frozenset({"region_chance"}))
    assert bounds.values["region_ceiling"] == 100.0


def _run(folder: Path, recipe: Recipe, model: UpDown | SCAN, data: Path) -> Run:
    from tellapart.core.files import read_json
    from tellapart.runs.run import inputs_for
    from tellapart.text.vocabulary import Vocabulary

    torch.manual_seed(0)
    described, vocabulary = read_json(folder / "data.json"), Vocabulary.load(folder / "vocabulary.json")
    built = model.build(inputs_for(vocabulary, described["features"], load_pretrained=False)).eval()
    return Run(folder, recipe, described, vocabulary, built, recipe.stages[-1])
