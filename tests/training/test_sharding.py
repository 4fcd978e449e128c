"""Weights sharded across two processes (FSDP2): what is learned equals what one process learns with all of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import tiny_hub
from photo_world import drawn_pack_with_targets
from tellapart.core.distributed import group
from tellapart.core.errors import InputError
from tellapart.papers.recipes import find_recipe
from tellapart.runs.recipe import Average
from tellapart.runs.run import open_run
from tellapart.training import loop
from tellapart.training.settings import TrainSettings
from tellapart.training.sharded_tensors import own_part
from tellapart.training.sharding import Sharded
from tellapart.training.train import train_recipe
from training.test_distributed import in_two_processes

pytest.importorskip("transformers")
SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from training.test_sharding import CASES, count_parts, interrupted, trained
count_parts(Path(sys.argv[1]))
for name in CASES:
    trained(Path(sys.argv[1]), name, "two", shard=True)
for name in ("resumed", "left"):
    interrupted(Path(sys.argv[1]), name)
trained(Path(sys.argv[1]), "LoRA", "resumed", shard=True, resume=True)
"""
SGD = ("optimiser.kind=sgd", "optimiser.lr=0.05", "schedule.warmup_steps=0")
CASES = {
    "LTD": ("clip-ltd", "clip", ("lora=none", "objective.hidden=8", "clip_norm=0.5", *SGD)),
    # Adam on adapters of queries and values: its steps on weights without gradient (biases of keys) would be rounding.
    "LoRA": ("siglip-ltd", "siglip", ("objective.hidden=8", "lora.layers=q_proj,v_proj", "keep=last")),
    "likelihood": ("neuraltalk2", "blip", SGD),
    "CL": ("blip-cl", "git", ("lora.rank=2", "epochs=1", "precision=bfloat16")),
    "SCST": ("blip-scst-self-retrieval", "vit_gpt2", ("lora=none", "epochs=1", "objective.rewards.judge=hf:JUDGE")),
}
EQUAL = ("LTD", "LoRA", "likelihood")
"""Cases without random draws of each process."""


def trained(world: Path, case: str, name: str, shard: bool = False, resume: bool = False) -> Path:
    """One or two epochs of two uneven batches (of 5 and 3 images); the run folder."""
    recipe, family, changes = CASES[case]
    stage = find_recipe(recipe).stages[0]
    short = ("epochs=2", "sampling.batch=5", "sampling.drop_last=false", "sampling.captions_each=1")
    changes = tuple(change.replace("JUDGE", str(world / "clip")) for change in changes)
    out = world / f"{case}-{name}"
    settings = TrainSettings(
        world / "pack", out, start=f"hf:{world / family}", shard=shard, resume=resume, save_every=0.0,
        set=tuple(f"{stage.name}.{change}" for change in (*short, *changes)),
    )  # fmt: skip
    averaged = replace(stage, average=Average("ema", decay=0.5)) if case == "LoRA" else stage
    train_recipe(replace(find_recipe(recipe), stages=(averaged,)), settings)
    return out


def count_parts(world: Path) -> None:
    """Write how many of its weights' numbers each process holds, and of how many, for every case."""

    class Counted(Sharded):
        def __init__(self, objective: torch.nn.Module, device: torch.device) -> None:
            super().__init__(objective, device)
            weights = list(objective.get_submodule("model").parameters())
            held = sum(own_part(weight).numel() for weight in weights)
            with (world / f"parts-{group().rank}").open("a") as file:
                file.write(f"{held / sum(weight.numel() for weight in weights)}\n")

    loop.Sharded = Counted


def interrupted(world: Path, name: str) -> None:
    """All processes fail after the first epoch of the case LoRA."""
    validated = loop.validate_epoch

    def fail(*given: object) -> dict[str, float]:
        if given[1].epoch == 1:  # type: ignore[attr-defined]
            raise KeyboardInterrupt
        return validated(*given)  # type: ignore[arg-type]

    loop.validate_epoch = fail
    with pytest.raises(KeyboardInterrupt):
        trained(world, "LoRA", name, shard=True)
    loop.validate_epoch = validated


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve drawn photos with captions, tiny models, and what two processes have trained on them."""
    folder = tmp_path_factory.mktemp("world")
    drawn_pack_with_targets(folder)
    for family in ("clip", "siglip", "blip", "git", "vit_gpt2"):
        tiny_hub.ALL[family](folder / family)
    in_two_processes(SCRIPT, folder, str(folder))
    return folder


def rows(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", EQUAL)
def test_two_processes_equal_one(world: Path, case: str) -> None:
    one, two = trained(world, case, "one"), world / f"{case}-two"
    assert len(rows(one)) == len(rows(two)) > 2
    for ours, theirs in zip(rows(one), rows(two)):
        numbers = {name: value for name, value in ours.items() if isinstance(value, float)}
        assert {name: theirs[name] for name in numbers} == pytest.approx(numbers, abs=1e-5, rel=1e-5)
    begun = load_file(world / CASES[case][1] / "model.safetensors")
    expected, found = load_file(one / "model.safetensors"), load_file(two / "model.safetensors")
    assert expected.keys() == found.keys()
    assert any(not torch.equal(value, expected.get(f"model.{name}", value)) for name, value in begun.items())
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["resumed", "left"])
def test_a_resumed_run_ends_as_an_uninterrupted_one(world: Path, name: str) -> None:
    """Resumed by two processes, or by one that holds all weights."""
    if name == "left":
        trained(world, "LoRA", name, resume=True)
    whole, resumed = (load_file(world / f"LoRA-{one}" / "model.safetensors") for one in ("two", name))
    for key, value in whole.items():
        torch.testing.assert_close(resumed[key], value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_a_sharded_run_opens_in_one_process(world: Path, case: str) -> None:
    weights = open_run(world / f"{case}-two").model.state_dict()
    assert all(bool(torch.isfinite(value).all()) for value in weights.values())
    assert (world / f"{case}-two" / "adapters").is_dir() == (case in ("LoRA", "CL"))


def test_each_process_holds_half_of_the_weights(world: Path) -> None:
    shares = [[float(line) for line in (world / f"parts-{rank}").read_text().split()] for rank in (0, 1)]
    assert len(shares[0]) == len(shares[1]) == len(CASES) + 3
    assert shares[0] == pytest.approx([0.5] * len(shares[0]), abs=0.05)
    assert [one + two for one, two in zip(*shares)] == pytest.approx([1.0] * len(shares[0]), abs=0.001)


def test_one_process_cannot_shard(world: Path) -> None:
    with pytest.raises(InputError, match="`shard` needs several processes: start training with torchrun"):
        trained(world, "LTD", "alone", shard=True)
    assert not (world / "LTD-alone").exists()
