"""Pretrained models in two processes: gradients and rewards equal those of one process with the whole batch."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import tiny_hub
from photo_world import drawn_pack_with_targets
from training.test_distributed import in_two_processes

pytest.importorskip("transformers")
SCRIPT = """
import sys
from pathlib import Path
from safetensors.torch import save_file
sys.path.insert(0, {tests!r})
from training.test_hub_distributed import CASES, learned
from tellapart.core.distributed import join_group
us = join_group("cpu")
found = {{}}
for name in CASES:
    found |= learned(Path(sys.argv[1]), name)
save_file(found, sys.argv[2] + str(us.rank))
"""
CASES = {
    "info-nce": ("clip-plain", "clip", ()),
    "hardest negatives": ("clip-hard-negatives", "clip", ()),
    "ConVSE": ("clip-convse", "clip", ("train.model.heads=24",)),
    "LTD": ("clip-ltd", "clip", ("train.objective.hidden=8",)),
    "CL": ("blip-cl", "blip", ()),
    "SCST": ("blip-scst-self-retrieval", "blip", ("train.objective.rewards.judge=hf:JUDGE",)),
}


def learned(world: Path, case: str) -> dict[str, torch.Tensor]:
    """Gradients of one batch of a recipe, averaged over ranks as training averages them, and rewards of its images."""
    from torch.nn.parallel import DistributedDataParallel

    from tellapart.core.distributed import gather_rows, group
    from tellapart.core.progress import Progress
    from tellapart.data.sampling import draw_epoch
    from tellapart.papers.recipes import find_recipe
    from tellapart.training.initial_model import initial_model
    from tellapart.training.prefetch import prefetch
    from tellapart.training.settings import TrainSettings
    from tellapart.training.train import START, _checked

    name, family, changes = CASES[case]
    changes = tuple(change.replace("JUDGE", str(world / "clip")) for change in changes)
    changes = ("train.lora=none", "train.sampling.batch=5", *changes)
    settings = TrainSettings(world / "pack", world / "never", start=f"hf:{world / family}", set=changes)
    plan = _checked(find_recipe(name), settings, torch.device("cpu"))
    stage = plan.recipe.stages[0]
    context = plan.builder.context(stage.sampling)
    torch.manual_seed(0)
    model = initial_model(stage, context, Progress(enabled=False))
    plan.builder.models[START] = copy.deepcopy(model).eval()
    objective = stage.objective.build(model, context).double().eval()
    batch = next(iter(prefetch(context.batches, draw_epoch(context.pack, stage.sampling, (0, 0, 0)))))
    found: dict[str, torch.Tensor] = {}
    given: tuple[Any, ...] = ()
    if case == "CL":  # mismatched captions that do not depend on the place in the batch: those of the next image
        others = (batch.image_rows.numpy() + 1) % len(context.pack.images)
        rows = np.asarray([context.pack.captions_of[int(row)][0] for row in others])
        given = ((context.batches.texts(rows), torch.arange(len(rows))),)
    if case == "SCST":  # sampled captions that are the first of each image, twice
        firsts = [int((batch.owner == row).nonzero()[0]) for row in range(len(batch.images))]
        tokens = batch.texts.tokens[firsts][:, 1:].repeat_interleave(objective.config.samples, 0)
        owner = torch.arange(len(batch.images)).repeat_interleave(objective.config.samples)
        rewards = objective.reward(tokens, batch, owner)
        found[f"{case}/rewards"] = gather_rows(rewards.contiguous())
        room = objective.config.max_words + 1 - tokens.shape[1]
        given = ((torch.nn.functional.pad(tokens, (0, room)), rewards, rewards - 0.3),)
    several = group().world > 1
    wrapped = DistributedDataParallel(objective, find_unused_parameters=True) if several else objective
    wrapped(batch, *given)["loss"].backward()
    gradients = {name: p.grad for name, p in objective.named_parameters() if p.grad is not None}
    return found | {f"{case}/{name}": gradient.contiguous().clone() for name, gradient in gradients.items()}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve drawn photos with captions, sentence targets, and two tiny models."""
    folder = tmp_path_factory.mktemp("world")
    drawn_pack_with_targets(folder)
    for family in ("clip", "blip"):
        tiny_hub.ALL[family](folder / family)
    return folder


@pytest.fixture(scope="module")
def of_two(world: Path) -> list[dict[str, torch.Tensor]]:
    """What both processes have learned."""
    in_two_processes(SCRIPT, world, str(world), str(world / "two.safetensors"))
    return [load_file(world / f"two.safetensors{rank}") for rank in (0, 1)]


@pytest.mark.parametrize("case", CASES)
def test_two_processes_equal_one(world: Path, of_two: list[dict[str, torch.Tensor]], case: str) -> None:
    one = learned(world, case)
    assert max(float(value.abs().max()) for value in one.values()) > 1e-6
    for two in of_two:
        own = {name: value for name, value in two.items() if name.startswith(f"{case}/")}
        assert own.keys() == one.keys()
        for name in one:
            torch.testing.assert_close(own[name], one[name], rtol=1e-4, atol=1e-7)  # rewards are float32
