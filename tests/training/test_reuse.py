"""Stages taken over from another run, and objectives that continue with what they learned."""

from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load_file

from small_recipes import small_pack, small_recipe
from tellapart.core.errors import InputError
from tellapart.runs.recipe import Recipe
from tellapart.training.log import read_log
from tellapart.training.objective_state import load_objective_state, objective_path
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_pack(tmp_path_factory.mktemp("packs") / "small").folder


def latent(epochs: int = 2) -> Recipe:
    """LTD as a constraint, two short phases."""
    recipe = small_recipe("ltd-baseline-ltd")
    return replace(recipe, stages=tuple(replace(stage, epochs=epochs) for stage in recipe.stages))


def test_decoder_and_multiplier_live_on(pack: Path, tmp_path: Path) -> None:
    train_recipe(latent(), TrainSettings(pack, tmp_path / "run"))
    carried = load_objective_state(latent(), 1, tmp_path / "run")
    assert "join.constraint.raw" in carried and not any(name.startswith("model.") for name in carried)
    rows = read_log(tmp_path / "run" / "log.jsonl")
    first = next(row["multiplier"] for row in rows if row["stage"] == "fine-tune")
    assert abs(first - float(carried["join.constraint.raw"])) < 1e-6 and first != 1.0


def test_taken_over_stages_end_as_trained_ones(pack: Path, tmp_path: Path) -> None:
    """The multiplier and the decoder of the first phase come along."""
    recipe = latent()
    train_recipe(recipe, TrainSettings(pack, tmp_path / "whole"))
    first = replace(recipe, stages=recipe.stages[:1])
    train_recipe(first, TrainSettings(pack, tmp_path / "first"))
    train_recipe(recipe, TrainSettings(pack, tmp_path / "rest", base=tmp_path / "first"))
    whole, rest = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "rest"))
    assert all(bool((whole[name] == rest[name]).all()) for name in whole)
    assert objective_path(tmp_path / "rest", "warm-up").is_file()
    assert read_log(tmp_path / "whole" / "log.jsonl") == read_log(tmp_path / "rest" / "log.jsonl")


def test_other_beginnings_are_rejected(pack: Path, tmp_path: Path) -> None:
    recipe = latent(1)
    first = replace(recipe, stages=recipe.stages[:1], seed=4)
    train_recipe(first, TrainSettings(pack, tmp_path / "first"))
    with pytest.raises(InputError, match="are not the first stages of"):
        train_recipe(recipe, TrainSettings(pack, tmp_path / "run", base=tmp_path / "first"))
    with pytest.raises(InputError, match="is not a finished run"):
        train_recipe(recipe, TrainSettings(pack, tmp_path / "run", base=tmp_path / "none"))
