"""The control of contrastive learning: likelihood that differs from CL in its objective alone."""

from dataclasses import replace

import pytest

from tellapart.objectives.likelihood import Likelihood
from tellapart.objectives.reference_contrast import ReferenceContrastLearning
from tellapart.papers.tables import TABLES
from tellapart.reproduce.row_recipes import row_recipe
from tellapart.runs.recipe import Stage

PAIRS = [
    (name, continued, taught)
    for name, continued, taught in (
        ("table1", "AA, continued", "AA + CL"),
        ("table4", "AA, continued", "AA + CL"),
        ("table5", "NT, continued", "NT + CL(NT)"),
        ("table1-coco", "AA, continued", "AA + CL"),
        ("table5-coco", "NT, continued", "NT + CL(NT)"),
        ("rates", "continued, rate 4e-4", "rate 4e-4"),
        ("rates", "continued, rate 1e-3", "rate 1e-3"),
    )
]


@pytest.mark.parametrize(("table", "continued", "taught"), PAIRS)
def test_it_has_the_batches_steps_and_learning_rates_of_cl(table: str, continued: str, taught: str) -> None:
    rows = {row.name: row for row in TABLES[f"contrastive-captioning/{table}"].rows}
    control, contrast = row_recipe(rows[continued]), row_recipe(rows[taught])
    first, last = control.stages[0], control.stages[-1]
    assert (first, len(control.stages)) == (contrast.stages[0], len(contrast.stages))
    assert isinstance(last.objective, Likelihood)
    assert isinstance(contrast.stages[-1].objective, ReferenceContrastLearning)
    assert _without_objective(last) == _without_objective(contrast.stages[-1])


def _without_objective(stage: Stage) -> Stage:
    return replace(stage, name="", objective=None)
