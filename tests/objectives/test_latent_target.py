"""Latent target decoding: the dual loss is the sum it says, the constraint climbs and falls, bad columns are
rejected."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.losses import Contrast
from tellapart.models.matchers import MATCHERS
from tellapart.models.matchers.vse import VSE
from tellapart.objectives.extra_loss import Joining
from tellapart.objectives.latent_target import LatentTarget
from tellapart.objectives.ranking import Ranking
from tiny_world import tiny_context

SMALL = {
    "vse": VSE(embedding=16, word_width=8),
    "ltd-baseline": MATCHERS["ltd-baseline"](embedding=16, word_width=8, batch_norm=True),
    "vsrn": MATCHERS["vsrn"](embedding=16, word_width=8),
    "tern": MATCHERS["tern"](
        embedding=16,
        text_layers=1,
        word_width=16,
        region_width=16,
        region_layers=1,
        shared_layers=1,
        heads=2,
        hidden=16,
    ),
}


def test_the_dual_loss_is_contrast_plus_beta_times_reconstruction(tmp_path: Path) -> None:
    context = tiny_context(tmp_path, columns=("targets",))
    torch.manual_seed(0)
    model = SMALL["vse"].build(context.inputs)
    objective = LatentTarget(joining=Joining(weight=3.0), column="targets", hidden=8).build(model, context)
    batch = context.batches.batch(np.arange(10))
    step = objective(batch)
    ranking = Ranking(Contrast("info-nce", temperature=0.05)).build(model, context)(batch)
    predicted = objective.decoder(model.encode_text(batch.texts).vectors)
    distance = 1 - torch.nn.functional.cosine_similarity(predicted, batch.texts.columns["targets"])
    assert torch.allclose(step["loss"], ranking["loss"] + 3 * distance.mean())
    assert "multiplier" not in step


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("loss", ["info-nce", "hardest-negative-hinge"])
def test_every_global_matcher_learns_under_the_constraint(tmp_path: Path, name: str, loss: str) -> None:
    context = tiny_context(tmp_path, columns=("targets",))
    torch.manual_seed(0)
    objective = LatentTarget(
        Contrast(loss), joining=Joining(bound=0.2, multiplier_lr=0.5), column="targets", hidden=16
    ).build(SMALL[name].build(context.inputs), context)
    batch = context.batches.batch(np.arange(16))
    optimiser = torch.optim.Adam(objective.parameters(), 5e-3)
    steps = []
    for _ in range(60):
        optimiser.zero_grad()
        step = objective(batch)
        step["loss"].backward()
        optimiser.step()
        steps.append({key: value.item() for key, value in step.items()})
    assert steps[-1]["reconstruction"] < 0.6 * steps[0]["reconstruction"]
    assert max(step["multiplier"] for step in steps) > steps[0]["multiplier"]  # the bound was broken at first


def test_the_multiplier_is_saved_with_the_objective(tmp_path: Path) -> None:
    context = tiny_context(tmp_path, columns=("targets",))
    config = LatentTarget(column="targets", hidden=8)
    objective = config.build(SMALL["vse"].build(context.inputs), context)
    objective(context.batches.batch(np.arange(6)))
    copy = config.build(SMALL["vse"].build(context.inputs), context)
    copy.load_state_dict(objective.state_dict())
    assert torch.equal(copy.join.constraint.raw, objective.join.constraint.raw)
    assert copy.join.constraint.raw != 1


def test_a_matcher_with_word_vectors_is_rejected(tmp_path: Path) -> None:
    context = tiny_context(tmp_path, columns=("targets",))
    scan = MATCHERS["scan"](embedding=8, word_width=8).build(context.inputs)
    with pytest.raises(InputError, match="one vector per caption"):
        LatentTarget(column="targets").build(scan, context)


def test_a_bound_below_zero_is_rejected() -> None:
    with pytest.raises(InputError, match=r"joining\.bound must be positive, .* not -1"):
        Joining(bound=-1.0).build()


def test_missing_columns_are_rejected(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    with pytest.raises(InputError, match="no column 'elsewhere'"):
        LatentTarget(column="elsewhere").build(SMALL["vse"].build(context.inputs), context)
    with pytest.raises(InputError, match="not have one vector per caption"):
        LatentTarget(column="nouns").build(SMALL["vse"].build(context.inputs), context)
    objective = LatentTarget(column="targets").build(SMALL["vse"].build(context.inputs), context)
    with pytest.raises(InputError, match=r"sampling\.columns"):
        objective(context.batches.batch(np.arange(4)))
