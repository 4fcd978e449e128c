"""A dry run raises the errors of later stages before the first one is trained."""

from dataclasses import replace
from pathlib import Path

import pytest

from grounded_world import grounded_pack
from small_recipes import small_pack, small_recipe
from stopping import Stopped, stop_after
from tellapart.core.errors import InputError
from tellapart.objectives.ranking import Ranking
from tellapart.objectives.reference_contrast import ReferenceContrastLearning
from tellapart.objectives.rewards import Rewards
from tellapart.objectives.self_critical import SelfCritical
from tellapart.runs.overrides import override
from tellapart.runs.recipe import Recipe
from tellapart.training import train
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_pack(tmp_path_factory.mktemp("packs") / "small").folder


def two_stages() -> Recipe:
    """A matcher, and a captioner next to it."""
    (matcher,), (captioner, *_) = (small_recipe(name).stages for name in ("vse++", "neuraltalk2"))
    return Recipe("two", "", "", stages=(replace(matcher, name="first"), replace(captioner, name="second")))


def rejection(recipe: Recipe, pack: Path, out: Path) -> str:
    """What training says before it begins; no run folder is made."""
    with pytest.MonkeyPatch.context() as patch:
        stop_after(0, patch)  # were it trained, it would raise something else
        with pytest.raises(InputError) as raised:
            train_recipe(recipe, TrainSettings(pack, out))
    assert not out.exists()
    return str(raised.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"objective": ReferenceContrastLearning("third")}, "third is not a run folder"),
        ({"objective": ReferenceContrastLearning("first")}, "is not a captioner"),
        ({"objective": SelfCritical(Rewards(matcher="thrid"))}, "thrid is not a run folder"),
        ({"objective": SelfCritical(Rewards(cider=0.0, matcher="copy"))}, "'copy' is not a matcher"),
        ({"objective": Ranking()}, "trains a matcher, but NeuralTalk2Model is not"),
        ({"start": "nowhere"}, "nowhere is not a run folder"),
        ({"start": "first"}, "no weight of 'first' fits its model"),
        ({"model": None}, "starts fresh but names no model"),
        ({"frozen": ("no_such.",)}, "No parameter's name begins with 'no_such.'"),
        ({"evaluation": "loss", "monitor": "cider"}, "'cider' is not among the evaluation's metrics: loss"),
        ({"evaluation": "retrieval", "monitor": "rsum"}, "Retrieval needs a matcher; NeuralTalk2Model is not"),
    ],
)
def test_what_the_last_stage_rejects(changes: dict[str, object], said: str, pack: Path, tmp_path: Path) -> None:
    first, second = two_stages().stages
    stages = (first, replace(second, name="copy"), replace(second, **changes))  # type: ignore[arg-type]
    assert said in rejection(Recipe("three", "", "", stages=stages), pack, tmp_path / "run")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["xe.objective.teacher=other"], "other is not a run folder"),
        (["xe.objective.loss=guess"], "Unknown attention loss 'guess'"),
        (["pos-scan.model.direction=i2t"], "text-to-image SCAN; train one with direction=t2i"),
        (["pos-scan.sampling.columns="], "POS-SCAN needs the caption column 'nouns'"),
        (['xe.model={"kind": "neuraltalk2", "hidden": 8}'], "has no attention to supervise"),
    ],
)
def test_what_a_pupil_rejects(settings: list[str], said: str, tmp_path: Path) -> None:
    grounded_pack(tmp_path / "pack")
    recipe = override(small_recipe("grounded-pos-scan"), settings)
    assert said in rejection(recipe, tmp_path / "pack", tmp_path / "run")


def test_a_pack_that_a_later_stage_cannot_be_judged_on(tmp_path: Path) -> None:
    """Missing phrases raise an error when training starts, not after the matchers are trained."""
    assert "annotate" in rejection(
        small_recipe("grounded-none"), small_pack(tmp_path / "bare").folder, tmp_path / "run"
    )


def test_only_what_is_left_is_gone_through(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single stage is reached at once, and finished ones are not checked again."""
    rehearsed: list[set[str]] = []
    monkeypatch.setattr(train, "dry_run", lambda recipe, chosen, left, context_of: rehearsed.append(set(left)))
    recipe = two_stages()
    short = tuple(replace(stage, epochs=1, sampling=replace(stage.sampling, steps=2)) for stage in recipe.stages)
    recipe = replace(recipe, stages=short)
    settings = TrainSettings(pack, tmp_path / "run", resume=True)
    with monkeypatch.context() as patch:
        stop_after(3, patch)
        with pytest.raises(Stopped):
            train_recipe(recipe, settings)
    train_recipe(recipe, settings)
    assert rehearsed == [{"first", "second"}]
