"""Epochs validated by losses: the stage's own, and with them those of stages before it."""

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.data.join import CorpusFilter, join_unpaired
from tellapart.data.pack import Pack
from tellapart.evaluation import EVALUATIONS
from tellapart.papers.r2m.recipes import FULL, R2M_ANCHORED, R2M_FULL
from tellapart.papers.recipes import find_recipe
from tellapart.runs.context import context_for
from tellapart.runs.recipe import Recipe, Stage
from tellapart.runs.run import open_run
from tellapart.training import loop
from tellapart.training.checkpoints import Position
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe
from tellapart.training.validation import is_better, validate_epoch, validation_loss
from tiny_pack import make_tiny_pack
from unpaired_packs import corpus_pack, image_pack


def small(stage: Stage, epochs: int) -> Stage:
    model = stage.model and replace(stage.model, width=8, key_width=4, value_width=4)
    return replace(stage, model=model, epochs=epochs, sampling=replace(stage.sampling, batch=4, steps=2))


@pytest.fixture
def unpaired(tmp_path: Path) -> Path:
    filters = CorpusFilter(least_count=1, held_out=0.34)
    return join_unpaired(
        image_pack(tmp_path / "a"), corpus_pack(tmp_path / "b"), tmp_path / "c", filters=filters
    ).pack.folder


def validations(recipe: Recipe, data: Path, out: Path) -> list[dict[str, float]]:
    """What was said of each epoch of the last stage."""
    train_recipe(recipe, TrainSettings(data=data, out=out))
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [row for row in rows if row["stage"] == recipe.stages[-1].name and "mean_loss" in row]


def test_losses_are_added_up(unpaired: Path, tmp_path: Path) -> None:
    _, words, images, _ = FULL
    words = replace(words, start="fresh", model=FULL[0].model)
    recipe = replace(R2M_FULL, stages=(small(words, 1), small(images, 3)))
    epochs = validations(recipe, unpaired, tmp_path / "run")
    assert len(epochs) == 3
    for epoch in epochs:
        assert epoch["loss"] == pytest.approx(epoch["loss_words-rebuilt"] + epoch["loss_pictures"])
        assert epoch["loss_pictures"] == epoch["matching"]


def test_what_is_kept_is_best_by_the_sum(unpaired: Path, tmp_path: Path) -> None:
    """At a rate so high that the language is lost, the least sum is not that of the least loss on images."""
    words, _, images, _ = FULL
    random = replace(images.objective, image_projection="random")  # which captions must leave the language for
    images = small(replace(images, objective=random, also_validated_by=("words",)), 6)
    images = replace(images, optimiser=replace(images.optimiser, lr=0.2))
    words = small(words, 1)
    epochs = validations(replace(R2M_FULL, stages=(words, images)), unpaired, tmp_path / "run")
    best = min(epochs, key=lambda epoch: epoch["loss"])
    assert best["loss_pictures"] > min(epoch["loss_pictures"] for epoch in epochs)
    run, pack = open_run(tmp_path / "run"), Pack(unpaired)
    context = context_for(run, pack)
    objective = words.objective.build(run.model, context).eval()
    with torch.no_grad():
        assert validation_loss(objective, context, words)["loss"] == pytest.approx(best["loss_words"])


def test_an_objective_with_weights_besides_its_model_cannot_validate(tmp_path: Path) -> None:
    """The decoder of input target decoding goes when its stage ends."""
    first = replace(find_recipe("ltd-baseline-itd-dual").stages[0], name="decoded", epochs=1)
    second = replace(find_recipe("vse++").stages[0], name="plain", model=None, start="previous", epochs=1)
    second = replace(second, evaluation="loss", monitor="loss", also_validated_by=("decoded",))
    recipe = replace(find_recipe("vse++"), stages=(first, second))
    pack = make_tiny_pack(tmp_path / "pack")
    with pytest.raises(InputError, match="'decoded' has weights besides its model's"):
        train_recipe(recipe, TrainSettings(data=pack.folder, out=tmp_path / "run"))


def test_losses_are_added_up_only_where_losses_choose(unpaired: Path, tmp_path: Path) -> None:
    recipe = replace(R2M_FULL, stages=tuple(small(stage, 1) for stage in FULL[:3]))
    for setting in ("pictures.evaluation=captions", "pictures.monitor=matching"):
        settings = TrainSettings(data=unpaired, out=tmp_path / "run", set=(setting,))
        with pytest.raises(InputError, match=r"needs pictures.evaluation=loss and pictures.monitor=loss"):
            train_recipe(recipe, settings)


def test_a_resumed_stage_is_validated_as_an_uninterrupted_one(
    unpaired: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even by an objective that remembers the model it was made over (`anchor`)."""
    stages = tuple(small(stage, 1 if stage.sampling.what == "texts" else 3) for stage in R2M_ANCHORED.stages)
    last = replace(stages[-1], also_validated_by=("pictures",))
    recipe = replace(R2M_ANCHORED, stages=(*stages[:-1], last))
    whole = validations(recipe, unpaired, tmp_path / "whole")
    settings = TrainSettings(data=unpaired, out=tmp_path / "cut", save_every=0.0)
    judged, count = loop.validate_epoch, 0

    def killed_before_the_end(stage: Stage, *rest: object) -> dict[str, float]:
        nonlocal count
        count += stage.name == last.name
        if count == 3:
            raise KeyboardInterrupt
        return judged(stage, *rest)

    monkeypatch.setattr(loop, "validate_epoch", killed_before_the_end)
    with pytest.raises(KeyboardInterrupt):
        train_recipe(recipe, settings)
    monkeypatch.undo()
    train_recipe(recipe, replace(settings, resume=True))
    rows = [json.loads(line) for line in (tmp_path / "cut" / "log.jsonl").read_text().splitlines()]
    assert [row for row in rows if row["stage"] == last.name and "mean_loss" in row] == whole


@pytest.mark.parametrize(
    ("monitor", "best"), [("i2t_median", 2), ("1k_t2i_median", 2), ("chair_words", 2), ("rsum", 5)]
)
def test_less_is_better_for_some_metrics(monitor: str, best: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three epochs with values 3, 2 and 5: the lowest median rank or rate of invented words is kept, the highest
    recall."""
    values = iter([3.0, 2.0, 5.0])
    monkeypatch.setitem(EVALUATIONS, "retrieval", lambda model, context, split: {monitor: next(values)})
    stage = replace(find_recipe("vse++").stages[0], epochs=1, monitor=monitor)
    model = torch.nn.Linear(1, 1)
    objective, position = torch.nn.ModuleDict({"model": model}), Position()
    kept: list[int] = []
    runtime = SimpleNamespace(whole=nullcontext, save_best=lambda _: kept.append(position.epoch), earlier=())
    for epoch in range(3):
        position.epoch = epoch
        metrics = validate_epoch(stage, position, objective, None, None, runtime)  # type: ignore[arg-type]
        assert metrics[monitor] in (2, 3, 5)
    assert abs(position.best or 0) == best and kept[-1] == (1 if best == 2 else 2)


def test_nan_is_never_the_best_epoch() -> None:
    """A first epoch of NaN would otherwise stay the best for ever: nothing is greater than NaN."""
    assert not is_better(float("nan"), None) and not is_better(float("nan"), 0.5)
    assert is_better(0.1, float("nan")) and is_better(0.1, None)
    assert is_better(0.2, 0.1) and not is_better(0.1, 0.1)
