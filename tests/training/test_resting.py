"""What a recipe's model does not rest on can be left out, and the model is the same to the bit."""

from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load_file

from small_recipes import small_pack, small_recipe
from tellapart.errors import InputError
from tellapart.objectives.reference_contrast import ReferenceContrastLearning
from tellapart.recipes import RECIPES, find_recipe
from tellapart.training.log import read_log
from tellapart.training.recipe import Recipe
from tellapart.training.resting import chosen_stages, rests_on
from tellapart.training.run import open_run
from tellapart.training.train import TrainSettings, train_recipe


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_pack(tmp_path_factory.mktemp("packs") / "small").folder


def two_matchers() -> Recipe:
    """Two stages that know nothing of each other."""
    (stage,) = small_recipe("vse++").stages
    short = replace(stage, epochs=1, sampling=replace(stage.sampling, steps=2))
    return Recipe("two", "", "", stages=(replace(short, name="first"), replace(short, name="second")))


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("grounded-matchers", {"pos-scan"}),
        ("grounded-none", {"xe"}),
        ("grounded-scan", {"scan", "xe"}),
        ("grounded-pos-scan-cider", {"pos-scan", "xe", "scst"}),
        ("grounded-pos-scan-cider-scan", {"scan", "pos-scan", "xe", "scst"}),
        ("grounded-none-cider-pos-scan", {"pos-scan", "xe", "scst"}),
    ],
)
def test_what_grounded_captioning_rests_on(name: str, needed: set[str]) -> None:
    assert rests_on(find_recipe(name)) == needed


def test_all_other_recipes_rest_on_all_their_stages() -> None:
    others = [recipe for name, recipe in RECIPES.items() if not name.startswith("grounded-")]
    assert all(rests_on(recipe) == {stage.name for stage in recipe.stages} for recipe in others)


def test_references_starts_and_judges_are_rested_on() -> None:
    first, second = two_matchers().stages
    third = replace(second, name="third")
    for looks in (
        {"objective": ReferenceContrastLearning(reference="first")},
        {"start": "first"},
        {"also_judged_by": ("first",)},
    ):
        recipe = Recipe("three", "", "", stages=(first, second, replace(third, **looks)))
        assert rests_on(recipe) == {"first", "third"}
    after = replace(third, start="previous")
    assert rests_on(Recipe("three", "", "", stages=(first, replace(second, start="first"), after))) == {
        "first",
        "second",
        "third",
    }
    assert rests_on(Recipe("three", "", "", stages=(first, second, third)), 0) == {"first"}


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (("third",), "has no stage 'third'; it has first, second"),
        (("first",), "'second' is the stage that 'two' ends with"),
    ],
)
def test_what_cannot_be_chosen(stages: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen_stages(two_matchers(), stages)


def test_what_is_rested_on_cannot_be_left_out() -> None:
    with pytest.raises(InputError, match="Stage 'xe' rests on 'pos-scan'"):
        chosen_stages(find_recipe("grounded-pos-scan"), ("scan", "xe"))
    assert chosen_stages(two_matchers(), ()) == {"first", "second"}


def test_a_stage_left_out_changes_nothing(pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train_recipe(two_matchers(), TrainSettings(pack, tmp_path / "whole", quiet=True))
    assert "does not rest on first: `--stages second` is enough" in capsys.readouterr().err
    train_recipe(two_matchers(), TrainSettings(pack, tmp_path / "less", stages=("second",), quiet=True))
    assert not capsys.readouterr().err
    whole, less = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "less"))
    assert all(bool((whole[name] == less[name]).all()) for name in whole)
    assert {row["stage"] for row in read_log(tmp_path / "less" / "log.jsonl")} == {"second"}
    assert open_run(tmp_path / "whole", "first").folder
    with pytest.raises(InputError, match="without stage 'first'"):
        open_run(tmp_path / "less", "first")
    with pytest.raises(InputError, match="no stage 'third'; it has first, second"):
        open_run(tmp_path / "less", "third")


def test_a_base_without_a_stage_is_refused(pack: Path, tmp_path: Path) -> None:
    """It has what its own model rests on, not what ours does."""
    recipe = two_matchers()
    train_recipe(recipe, TrainSettings(pack, tmp_path / "base", stages=("second",), quiet=True))
    third = replace(recipe.stages[1], name="third", model=None, start="first")
    longer = replace(recipe, stages=(*recipe.stages, third))
    settings = TrainSettings(pack, tmp_path / "run", stages=("first", "third"), base=tmp_path / "base", quiet=True)
    with pytest.raises(InputError, match="was begun without stage 'first'"):
        train_recipe(longer, settings)
