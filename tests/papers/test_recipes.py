"""Every matcher's and every contrastive captioner's recipe trains two steps per stage and opens again."""

from dataclasses import replace
from pathlib import Path

import pytest

from small_recipes import small_pack, small_recipe
from tellapart.papers.contrastive_captioning import recipes as contrastive_captioning
from tellapart.papers.convse import recipes as convse
from tellapart.papers.ltd import recipes as ltd
from tellapart.papers.ours import matcher_recipes, scan_recipes
from tellapart.papers.recipes import RECIPES
from tellapart.runs.registry import recipe_from_plain, to_plain
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe

# Recipes of grounded captioning and R2M need packs of their own: test_grounded_captioning, test_r2m_recipes.
TRAINED = [
    recipe.name
    for paper in (convse, ltd, scan_recipes, matcher_recipes, contrastive_captioning)
    for recipe in paper.RECIPES
]


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_pack(tmp_path_factory.mktemp("packs") / "small").folder


@pytest.mark.parametrize("name", TRAINED)
def test_trains_two_steps_per_stage(name: str, pack: Path, tmp_path: Path) -> None:
    recipe = small_recipe(name)
    stages = tuple(replace(stage, epochs=1, sampling=replace(stage.sampling, steps=2)) for stage in recipe.stages)
    run = train_recipe(replace(recipe, stages=stages), TrainSettings(pack, tmp_path / "run"))
    assert run.recipe.name == name
    assert (tmp_path / "run" / "model.safetensors").is_file()


@pytest.mark.parametrize("name", list(RECIPES))
def test_survives_the_way_to_json_and_back(name: str) -> None:
    recipe = RECIPES[name]
    assert recipe_from_plain(to_plain(recipe)) == recipe
    assert recipe.about and recipe.paper
