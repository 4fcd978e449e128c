"""Two processes with half a batch each learn what one learns from the whole: gradients and multiplier of LTD."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from tellapart.losses import Contrast
from tellapart.models.matchers.vse import VSE
from tellapart.objectives.context import Context
from tellapart.objectives.extra_loss import Joining
from tellapart.objectives.latent_target import LatentTarget, LatentTargetObjective
from tiny_world import tiny_context

SHARES = (np.arange(0, 6), np.arange(6, 16))
"""Captions of images 0-2 and of images 3-7: unequal on purpose."""


OBJECTIVES = {
    "mean": LatentTarget(joining=Joining(bound=0.2), column="targets", hidden=8),
    "sum": LatentTarget(
        Contrast("hardest-negative-hinge", reduction="sum"), Joining(bound=0.2, summed=True), "targets", hidden=8
    ),
}


def build(context: Context, name: str) -> LatentTargetObjective:
    torch.manual_seed(0)
    return OBJECTIVES[name].build(VSE(embedding=8, word_width=6).build(context.inputs), context)


def gradients(objective: LatentTargetObjective) -> torch.Tensor:
    return torch.cat([parameter.grad.flatten() for parameter in objective.parameters() if parameter.grad is not None])


def work(rank: int, folder: Path, name: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    context = tiny_context(folder / str(rank), columns=("targets",))
    objective = build(context, name)
    objective(context.batches.batch(SHARES[rank]))["loss"].backward()
    found = gradients(objective)
    dist.all_reduce(found)
    constraint = objective.join.constraint
    assert constraint is not None
    torch.save((found / 2, constraint.raw), folder / f"found-{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.parametrize("name", list(OBJECTIVES))
def test_gradients_and_multiplier_equal_one_process(tmp_path: Path, name: str) -> None:
    mp.spawn(work, args=(tmp_path, name), nprocs=2)
    context = tiny_context(tmp_path / "one", columns=("targets",))
    objective = build(context, name)
    objective(context.batches.batch(np.concatenate(SHARES)))["loss"].backward()
    constraint = objective.join.constraint
    assert constraint is not None
    for rank in (0, 1):
        found, raw = torch.load(tmp_path / f"found-{rank}.pt", weights_only=True)
        assert torch.allclose(found, gradients(objective), atol=1e-6)
        assert torch.allclose(raw, constraint.raw)
