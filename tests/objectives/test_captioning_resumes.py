"""Captioning stages stopped at any step end with the same weights as stages never stopped."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from small_recipes import small_pack, small_recipe
from tellapart.runs.overrides import override
from tellapart.runs.recipe import Recipe
from tellapart.training import loop
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe


class Stopped(Exception):
    pass


def short(name: str, *overrides: str) -> Recipe:
    recipe = override(small_recipe(name), overrides)
    stages = tuple(
        replace(stage, epochs=2, patience=0, sampling=replace(stage.sampling, batch=4, steps=3))
        for stage in recipe.stages
    )
    return replace(recipe, stages=stages)


READS_ITSELF = tuple(f"mle.objective.sampling_{name}" for name in ("every=1", "rise=0.25"))


@pytest.mark.parametrize(
    "recipe",
    [
        short("neuraltalk2-cl"),
        short("adaptive-attention-il"),
        short("adaptive-attention-gan"),
        short("neuraltalk2-cl-adaptive-attention"),
        short("tell-best"),
        short("tell-best", "scst.objective.reread=true"),
        short("tell-best-mle", *READS_ITSELF),
    ],
    ids=lambda recipe: recipe.name,
)
def test_resumed_equals_uninterrupted(recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six steps per stage; stopped after the second step of the last stage, mid-epoch, and resumed."""
    pack = small_pack(tmp_path / "pack").folder

    def settings(out: str, resume: bool = False) -> TrainSettings:
        return TrainSettings(data=pack, out=tmp_path / out, resume=resume, save_every=0.0)

    train_recipe(recipe, settings("whole"))
    learn, calls = loop.training_step, []

    def counted(*arguments: object) -> object:
        if len(calls) == 6 * (len(recipe.stages) - 1) + 2:
            raise Stopped
        calls.append(1)
        return learn(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(loop, "training_step", counted)
    with pytest.raises(Stopped):
        train_recipe(recipe, settings("stopped"))
    monkeypatch.setattr(loop, "training_step", learn)
    train_recipe(recipe, settings("stopped", resume=True))
    whole, resumed = (load_file(tmp_path / out / "model.safetensors") for out in ("whole", "stopped"))
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[key], resumed[key]) for key in whole)
