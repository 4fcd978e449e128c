"""Training that starts from a run on a model of transformers, or from the package's model by its short name."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import tellapart as ta
from photo_world import drawn_pack_with_targets
from tellapart.cli.evaluate import EvaluateOptions, evaluate
from tellapart.papers.recipes import find_recipe
from tellapart.runs.export import export_hub
from tellapart.runs.run import open_run
from tellapart.training.settings import TrainSettings
from tellapart.training.start_from_run import named_start
from tellapart.training.train import train_recipe

Hub = Callable[[str], Path]
SHORT = ("train.epochs=1", "train.sampling.batch=4", "train.sampling.steps=2", "train.lora.rank=2")
STILL = (*SHORT, "train.optimiser.lr=0")


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return drawn_pack_with_targets(tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize(
    ("first", "then", "family", "changes"),
    [
        ("clip-plain", "clip-ltd", "clip", ("train.objective.hidden=8",)),
        ("clip-plain", "clip-hard-negatives", "siglip", ()),
        ("blip-cl", "blip-cl", "git", ()),
    ],
)
def test_a_tuned_model_learns_more(
    hub: Hub, pack: Path, tmp_path: Path, first: str, then: str, family: str, changes: tuple[str, ...]
) -> None:
    """The recipe's own model, one of the hub, was opened in place of the run's."""
    source, tuned, out = tmp_path / "source", tmp_path / "tuned", tmp_path / "run"
    shutil.copytree(hub(family), source)
    train_recipe(find_recipe(first), TrainSettings(pack, tuned, start=f"hf:{source}", set=SHORT))
    shutil.rmtree(source)  # the run has all that is needed
    settings = TrainSettings(pack, out, start=str(tuned), set=(*STILL, *changes))
    train_recipe(find_recipe(then), settings)
    before, after = open_run(tuned).model.state_dict(), open_run(out).model.state_dict()
    assert before.keys() == after.keys()
    for name, value in before.items():  # nothing is learned at a learning rate of 0
        torch.testing.assert_close(after[name], value)
    card = (export_hub(out, tmp_path / "hub") / "README.md").read_text()
    assert f"base_model: {source}\n" in card, "what the first run began with"
    adapters = (out / "adapters" / "train" / "README.md").read_text()
    assert f"base_model: {tuned}\n" in adapters and "PeftModel" not in adapters


def test_heads_of_a_run_are_kept(hub: Hub, pack: Path, tmp_path: Path) -> None:
    start, heads = f"hf:{hub('clip')}", tmp_path / "heads"
    settings = TrainSettings(pack, heads, start=start, set=(*SHORT, "train.model.heads=24"))
    train_recipe(find_recipe("clip-convse"), settings)
    train_recipe(find_recipe("clip-plain"), TrainSettings(pack, tmp_path / "run", start=str(heads), set=STILL))
    before, after = open_run(heads).model.state_dict(), open_run(tmp_path / "run").model.state_dict()
    assert any(name.startswith("image_head") for name in after) and before.keys() == after.keys()
    for name, value in before.items():
        torch.testing.assert_close(after[name], value)


def test_another_kind_of_run_is_an_error(hub: Hub, pack: Path, tmp_path: Path) -> None:
    tuned = tmp_path / "tuned"
    train_recipe(find_recipe("clip-plain"), TrainSettings(pack, tuned, start=f"hf:{hub('clip')}", set=SHORT))
    for name, start, words in (
        ("blip-cl", str(tuned), "is a matcher, but the recipe 'blip-cl' trains a captioner"),
        ("clip-plain", "bundled", "'bundled:matcher' has no model of transformers, as the recipe 'clip-plain' tunes"),
        ("clip-plain", str(hub("clip")), "write hf:"),
    ):
        with pytest.raises(ta.InputError, match=words):
            train_recipe(find_recipe(name), TrainSettings(pack, tmp_path / "run", start=start))
    assert not (tmp_path / "run").exists()


def test_bundled_is_the_model_of_the_kind_that_is_asked_for(hub: Hub, pack: Path) -> None:
    """`--judge bundled` and `--start bundled` were no run folder."""
    assert named_start("bundled", find_recipe("vse++")) == "bundled:matcher"
    assert named_start("bundled", find_recipe("neuraltalk2")) == "bundled:captioner"
    assert named_start("runs/a", find_recipe("vse++")) == "runs/a"
    with pytest.raises(ta.InputError, match="several models; write bundled:captioner or bundled:matcher"):
        evaluate(EvaluateOptions(Path("bundled"), pack))
    with pytest.raises(ta.InputError, match=r"No finished features at .*lite2-coco-grid"):
        evaluate(EvaluateOptions(Path(f"hf:{hub('blip')}"), pack, judge=Path("bundled")))
