"""What a recipe's model does not rest on can be left out, and the model is the same to the bit."""

import shutil
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load_file
from torch import Tensor

from small_recipes import small_pack, small_recipe
from stopping import Stopped, stop_after
from tellapart.cli.main import main
from tellapart.core.errors import InputError
from tellapart.objectives.reference_contrast import ReferenceContrastLearning
from tellapart.papers.recipes import RECIPES, find_recipe
from tellapart.runs.recipe import Optimiser, Recipe
from tellapart.runs.run import best_path, open_run, stage_path
from tellapart.runs.slim_run import slim_run
from tellapart.training.log import read_log
from tellapart.training.settings import TrainSettings
from tellapart.training.stage_dependencies import chosen_stages, needed_stages, unneeded_stages
from tellapart.training.train import train_recipe


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
    assert needed_stages(find_recipe(name)) == needed


def test_all_other_recipes_rest_on_all_their_stages() -> None:
    others = [recipe for name, recipe in RECIPES.items() if not name.startswith("grounded-")]
    assert all(needed_stages(recipe) == {stage.name for stage in recipe.stages} for recipe in others)


def test_references_starts_and_judges_are_rested_on() -> None:
    first, second = two_matchers().stages
    third = replace(second, name="third")
    for looks in (
        {"objective": ReferenceContrastLearning(reference="first")},
        {"start": "first"},
        {"also_validated_by": ("first",)},
    ):
        recipe = Recipe("three", "", "", stages=(first, second, replace(third, **looks)))
        assert needed_stages(recipe) == {"first", "third"}
    after = replace(third, start="previous")
    assert needed_stages(Recipe("three", "", "", stages=(first, replace(second, start="first"), after))) == {
        "first",
        "second",
        "third",
    }
    assert needed_stages(Recipe("three", "", "", stages=(first, second, third)), 0) == {"first"}


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (("third",), "has no stage 'third'; its stages are first, second"),
        (("first",), "'two' ends with stage 'second': add it to `stages`"),
    ],
)
def test_what_cannot_be_chosen(stages: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen_stages(two_matchers(), stages)


def test_what_is_rested_on_cannot_be_left_out() -> None:
    with pytest.raises(InputError, match="Stage 'xe' needs pos-scan: add to `stages`"):
        chosen_stages(find_recipe("grounded-pos-scan"), ("scan", "xe"))
    assert chosen_stages(two_matchers(), ()) == {"first", "second"}


def weights(folder: Path, stage: str | None = None) -> dict[str, Tensor]:
    return load_file(folder / "model.safetensors" if stage is None else stage_path(folder, stage))


def same(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> bool:
    return ours.keys() == theirs.keys() and all(bool((ours[name] == theirs[name]).all()) for name in theirs)


@pytest.fixture(scope="module")
def whole(pack: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both stages, trained without a break."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    train_recipe(two_matchers(), TrainSettings(pack, out))
    return out


def test_a_stage_left_out_changes_nothing(pack: Path, whole: Path, tmp_path: Path) -> None:
    train_recipe(two_matchers(), TrainSettings(pack, tmp_path / "less", stages=("second",)))
    assert same(weights(tmp_path / "less"), weights(whole))
    assert {row["stage"] for row in read_log(tmp_path / "less" / "log.jsonl")} == {"second"}
    assert open_run(whole, "first").folder == whole
    with pytest.raises(InputError, match="without stage 'first'"):
        open_run(tmp_path / "less", "first")
    with pytest.raises(InputError, match="no stage 'third'; its stages are first, second"):
        open_run(tmp_path / "less", "third")


def test_resuming_makes_up_for_what_was_left_out(pack: Path, whole: Path, tmp_path: Path) -> None:
    settings = TrainSettings(pack, tmp_path / "run", stages=("second",), resume=True)
    train_recipe(two_matchers(), settings)
    train_recipe(two_matchers(), settings)
    steps = read_log(tmp_path / "run" / "log.jsonl")
    train_recipe(two_matchers(), replace(settings, stages=()))
    assert same(weights(tmp_path / "run"), weights(whole))
    assert same(weights(tmp_path / "run", "first"), weights(whole, "first"))
    rows = read_log(tmp_path / "run" / "log.jsonl")
    assert rows[: len(steps)] == steps and {row["stage"] for row in rows[len(steps) :]} == {"first"}
    assert [row["total"] for row in rows] == sorted(row["total"] for row in rows)


def rows_by_stage(folder: Path) -> dict[str, list[dict[str, object]]]:
    """What the log says of each stage, whenever it was trained."""
    by_stage: dict[str, list[dict[str, object]]] = {}
    for row in read_log(folder / "log.jsonl"):
        by_stage.setdefault(row["stage"], []).append({name: row[name] for name in row if name != "total"})
    return by_stage


@pytest.mark.parametrize("patience", [0, 1], ids=["", "first stage ends early"])
@pytest.mark.parametrize(
    "calls",
    [
        [((), 3), (("second",), None), ((), None)],
        [((), 3), (("second",), 3), ((), None)],
        [(("second",), 3), ((), None)],
        [(("second",), 3), (("second",), None), ((), 3), ((), None)],
        [((), 9), ((), None)],
    ],
    ids=["first, then second", "first, then part of second", "part of second", "second, then part of first", "late"],
)
@pytest.mark.parametrize("save_every", [0.0, 1e6], ids=["many checkpoints", "few checkpoints"])
def test_whatever_order_stages_are_trained_in(
    calls: list[tuple[tuple[str, ...], int | None]],
    patience: int,
    save_every: float,
    pack: Path,
    tmp_path: Path,
) -> None:
    """Stopped after some steps, resumed with other stages: weights are the same, and the log has every row once."""
    recipe = two_matchers()
    first, second = (replace(stage, epochs=4) for stage in recipe.stages)
    recipe = replace(recipe, stages=(replace(first, patience=patience, optimiser=Optimiser(lr=0.0)), second))
    train_recipe(recipe, TrainSettings(pack, tmp_path / "whole"))
    for stages, steps in calls:
        settings = TrainSettings(pack, tmp_path / "run", stages=stages, resume=True, save_every=save_every)
        with pytest.MonkeyPatch.context() as patch:
            stop_after(-1 if steps is None else steps, patch)
            with nullcontext() if steps is None else pytest.raises(Stopped):
                train_recipe(recipe, settings)
    for stage in ("first", "second"):
        assert same(weights(tmp_path / "run", stage), weights(tmp_path / "whole", stage))
    assert rows_by_stage(tmp_path / "run") == rows_by_stage(tmp_path / "whole")
    totals = [row["total"] for row in read_log(tmp_path / "run" / "log.jsonl")]
    assert totals == sorted(totals) and totals[-1] == read_log(tmp_path / "whole" / "log.jsonl")[-1]["total"]
    assert not list((tmp_path / "run" / "stages").glob("*.best.*"))


def test_a_stage_that_was_stopped_is_not_taken_for_finished(
    pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = two_matchers()
    recipe = replace(recipe, stages=tuple(replace(stage, epochs=3) for stage in recipe.stages))
    settings = TrainSettings(pack, tmp_path / "run", resume=True)
    with monkeypatch.context() as patch:
        stop_after(3, patch)
        with pytest.raises(Stopped):
            train_recipe(recipe, settings)
    assert best_path(settings.out, "first").is_file() and not stage_path(settings.out, "first").is_file()
    train_recipe(recipe, replace(settings, stages=("second",)))
    with pytest.raises(InputError, match="without stage 'first'"):
        open_run(settings.out, "first")


def test_weights_without_a_recipe_are_not_trusted(pack: Path, whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole / "stages", tmp_path / "run" / "stages")
    with pytest.raises(InputError, match=r"holds weights but no recipe\.json"):
        train_recipe(two_matchers(), TrainSettings(pack, tmp_path / "run"))


def test_a_run_may_go_on_under_another_name(pack: Path, whole: Path) -> None:
    settings = TrainSettings(pack, whole, resume=True)
    assert train_recipe(replace(two_matchers(), name="other", about="as it was"), settings).folder == whole
    with pytest.raises(InputError, match="of another recipe"):
        train_recipe(replace(two_matchers(), seed=1), settings)


def test_a_base_that_was_handed_out_is_rejected(pack: Path, whole: Path, tmp_path: Path) -> None:
    slim_run(whole, tmp_path / "slim")
    recipe = two_matchers()
    longer = replace(recipe, stages=(*recipe.stages, replace(recipe.stages[1], name="third")))
    with pytest.raises(InputError, match="slim copy without its stages"):
        train_recipe(longer, TrainSettings(pack, tmp_path / "run", base=tmp_path / "slim"))


def test_what_a_base_left_out_is_trained(pack: Path, whole: Path, tmp_path: Path) -> None:
    """It has what its own model rests on, not what ours does."""
    recipe = two_matchers()
    train_recipe(recipe, TrainSettings(pack, tmp_path / "base", stages=("second",)))
    third = replace(recipe.stages[1], name="third", model=None, start="first")
    longer = replace(recipe, stages=(*recipe.stages, third))
    for name, base in (("from whole", whole), ("from less", tmp_path / "base")):
        settings = TrainSettings(pack, tmp_path / name, stages=("first", "third"), base=base)
        train_recipe(longer, settings)
        assert same(weights(tmp_path / name, "first"), weights(whole, "first"))
    assert same(weights(tmp_path / "from less"), weights(tmp_path / "from whole"))


def test_weights_to_start_from_need_the_first_stage(pack: Path, whole: Path, tmp_path: Path) -> None:
    settings = TrainSettings(pack, tmp_path / "run", stages=("second",), start=str(whole))
    with pytest.raises(InputError, match="the first stage, 'first', which is not among `stages`"):
        train_recipe(two_matchers(), settings)


def test_the_command_line(pack: Path, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    described = str(whole / "recipe.json")
    call = ["train", described, "--data", str(pack), "--out", str(tmp_path / "run"), "--set", "second.epochs=1"]
    assert main([*call, "--quiet", "--stages", "second"]) == 0
    assert not capsys.readouterr().err
    assert main(["train", described, "--data", str(pack), "--out", str(tmp_path / "hint")]) == 0
    assert "does not need first: `--stages second` is enough for it.\n" in capsys.readouterr().err
    assert not unneeded_stages(find_recipe("ltd-baseline-ltd"))
