"""A run that was stopped, or killed at the worst moment, ends with the same bytes as one that never was."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load_file

from stopping import Stopped, stop_after
from tellapart.core.errors import InputError
from tellapart.papers.recipes import find_recipe
from tellapart.runs.recipe import Average, Recipe
from tellapart.training.checkpoints import newest_checkpoint
from tellapart.training.log import read_log
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe

SMALL = ("base.model.embedding=16", "base.model.word_width=8", "base.epochs=4", "base.sampling.batch=16")


def small_recipe(average: Average | None = None) -> Recipe:
    recipe = find_recipe("vse++")
    stage = replace(recipe.stages[0], average=average, model=replace(recipe.stages[0].model, dropout=0.3))
    again = replace(stage, name="again", start="previous", model=None, epochs=2)
    return replace(recipe, stages=(stage, again))


def settings(tiny_pack: Path, out: Path, resume: bool = False) -> TrainSettings:
    return TrainSettings(data=tiny_pack, out=out, set=SMALL, resume=resume, save_every=0.0)


@pytest.mark.parametrize("average", [None, Average("epoch"), Average("ema", decay=0.9)], ids=["plain", "swa", "ema"])
@pytest.mark.parametrize("steps", [1, 7, 10, 21])
def test_resumed_run_equals_uninterrupted(
    tiny_pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, average: Average | None, steps: int
) -> None:
    """Stopped after any number of steps: mid-epoch, at an epoch's end, in the second stage."""
    recipe = small_recipe(average)
    train_recipe(recipe, settings(tiny_pack, tmp_path / "whole"))

    with monkeypatch.context() as patch, pytest.raises(Stopped):
        stop_after(steps, patch)
        train_recipe(recipe, settings(tiny_pack, tmp_path / "stopped"))
    train_recipe(recipe, settings(tiny_pack, tmp_path / "stopped", resume=True))

    whole, resumed = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "stopped"))
    assert whole.keys() == resumed.keys()
    assert all((whole[name] == resumed[name]).all() for name in whole)
    assert read_log(tmp_path / "whole" / "log.jsonl") == read_log(tmp_path / "stopped" / "log.jsonl")


SCRIPT = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from training.test_resume import settings, small_recipe
from tellapart.training.train import train_recipe
left = int(sys.argv[3])
def counted(call):
    def called(*given, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*given, **named)
    return called
os.replace, os.fsync = counted(os.replace), counted(os.fsync)
train_recipe(small_recipe(), settings(Path(sys.argv[1]), Path(sys.argv[2]), resume=True))
"""


def test_kill_during_saves(tiny_pack: Path, tmp_path: Path) -> None:
    """kill -9 before some renames and flushes of a run that saves at every step: the same losses as never killed."""
    train_recipe(small_recipe(), settings(tiny_pack, tmp_path / "whole"))
    script = SCRIPT.format(tests=str(Path(__file__).parents[1]))
    out = tmp_path / "killed"
    for calls, code in ((40, -signal.SIGKILL), (61, -signal.SIGKILL), (0, 0)):
        command = [sys.executable, "-c", script, str(tiny_pack), str(out), str(calls)]
        done = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE)
        assert done.returncode == code, done.stderr.decode()
        assert newest_checkpoint(out / "checkpoints") is not None or not code
    whole, killed = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "killed"))
    assert all((whole[name] == killed[name]).all() for name in whole)
    assert read_log(tmp_path / "whole" / "log.jsonl") == read_log(out / "log.jsonl")


def test_rejects_to_overwrite_and_to_mix(tiny_pack: Path, tmp_path: Path) -> None:
    train_recipe(small_recipe(), settings(tiny_pack, tmp_path / "run"))
    with pytest.raises(InputError, match="already holds a run"):
        train_recipe(small_recipe(), settings(tiny_pack, tmp_path / "run"))
    with pytest.raises(InputError, match="another recipe"):
        train_recipe(small_recipe(Average()), settings(tiny_pack, tmp_path / "run", resume=True))


def test_two_processes_cannot_train_in_one_folder(tiny_pack: Path, tmp_path: Path) -> None:
    from tellapart.core.only_writer import only_writer

    with only_writer(tmp_path / "run", "training in"):
        with pytest.raises(InputError, match=r"Another process is training in .*run; wait for it"):
            train_recipe(small_recipe(), settings(tiny_pack, tmp_path / "run"))
        assert list((tmp_path / "run").iterdir()) == []
    train_recipe(small_recipe(), settings(tiny_pack, tmp_path / "run"))


@pytest.mark.parametrize("step", [1, 5, 20])
def test_no_checkpoint_of_spoiled_weights_replaces_a_good_one(
    tiny_pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """One gradient becomes NaN while the loss is still finite; training stops, and resumes from before that step."""
    from tellapart.training import loop

    train_recipe(small_recipe(), settings(tiny_pack, tmp_path / "whole"))
    learn, calls = loop.training_step, []

    def spoiled(stage, learner, *rest):
        calls.append(1)
        values = learn(stage, learner, *rest)
        if len(calls) == step:
            learner.optimiser.param_groups[0]["params"][0].data.fill_(float("nan"))
        return values

    with monkeypatch.context() as patch, pytest.raises(InputError, match="not finite numbers any more"):
        patch.setattr(loop, "training_step", spoiled)
        train_recipe(small_recipe(), settings(tiny_pack, tmp_path / "spoiled"))
    train_recipe(small_recipe(), settings(tiny_pack, tmp_path / "spoiled", resume=True))
    whole, resumed = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "spoiled"))
    assert all((whole[name] == resumed[name]).all() for name in whole)
