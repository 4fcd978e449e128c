"""SCAN's warmed recipes: as many epochs as the published ones, and a start that has a gradient."""

import pytest

from tellapart.papers.recipes import RECIPES
from tellapart.papers.tables import TABLES
from tellapart.reproduce.row_recipes import row_hash, row_recipe

NAMES = ("scan", "pos-scan", "pos-scan-code")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ending", ["warmed", "all-first"])
def test_epochs_stay_the_same_and_the_learning_rate_rises(name: str, ending: str) -> None:
    recipe = RECIPES[f"{name}-{ending}"]
    model = recipe.stages[0].model
    assert sum(stage.epochs for stage in recipe.stages) == 30
    assert recipe.stages[0].schedule.warmup_steps > 0
    assert model.nouns == name.startswith("pos") and (model.compat == "code") == name.endswith("code")
    assert recipe.stages[-1].objective.contrast.loss == "hardest-negative-hinge"
    assert ending == "warmed" or recipe.stages[0].objective.contrast.loss == "sum-of-hinges"


@pytest.mark.parametrize("share", [1.0, 0.05, 0.001])
def test_rows_with_and_without_a_warm_up_stay_different_runs(share: float) -> None:
    rows = TABLES["find/warmed"].rows[:2]
    recipes = [row_recipe(row, share=share).stages[0] for row in rows]
    assert recipes[0] != recipes[1] and row_hash(rows[0]) != row_hash(rows[1])
