"""The adversarial baseline: each part of the loss moves its own parameters, and the evaluator learns."""

from pathlib import Path

import pytest
import torch

from tellapart.core.types import Batch
from tellapart.models.captioners.neuraltalk import NeuralTalk2
from tellapart.objectives.adversarial import Adversarial, AdversarialObjective
from tiny_world import tiny_context


def made(folder: Path, **settings: int) -> tuple[AdversarialObjective, Batch]:
    context = tiny_context(folder)
    torch.manual_seed(0)
    config = Adversarial(width=16, samples=3, max_words=5, **settings)
    objective = config.build(NeuralTalk2(hidden=8).build(context.inputs), context).train()
    return objective, context.batches.images_and_captions(context.pack.split("train").images)


@pytest.mark.parametrize("rollouts", [0, 2])
def test_parts_keep_apart(tmp_path: Path, rollouts: int) -> None:
    objective, batch = made(tmp_path, evaluator_first=0, rollouts=rollouts)
    model, evaluator = list(objective.model.parameters()), list(objective.evaluator.parameters())
    from tellapart.models.decoding import sample, with_start

    drawn = sample(objective.model, batch.images, 3, max_words=5)
    owner = torch.arange(len(batch.images)).repeat_interleave(3)
    policy, _ = objective.policy_loss(batch, drawn, owner)
    grads = torch.autograd.grad(policy, model + evaluator, allow_unused=True)
    assert any(g is not None and g.abs().sum() > 0 for g in grads[: len(model)])
    assert all(g is None for g in grads[len(model) :])
    judged = objective.evaluator_loss(batch, with_start(drawn.tokens), owner)
    grads = torch.autograd.grad(judged, model + evaluator, allow_unused=True)
    assert all(g is None for g in grads[: len(model)]) and any(g is not None for g in grads[len(model) :])


def test_captioner_waits_for_the_evaluator(tmp_path: Path) -> None:
    objective, batch = made(tmp_path, evaluator_first=1)
    for waiting in (True, False):
        objective.zero_grad()
        objective(batch)["loss"].backward()
        moved = sum(float(p.grad.abs().sum()) for p in objective.model.parameters() if p.grad is not None)
        assert (moved == 0) == waiting
    assert int(objective.state_dict()["steps"]) == 2


def test_evaluator_learns_to_tell(tmp_path: Path) -> None:
    objective, batch = made(tmp_path, evaluator_first=10_000)
    optimiser = torch.optim.Adam(objective.evaluator.parameters(), 0.01)
    losses = []
    for _ in range(30):
        optimiser.zero_grad()
        loss = objective(batch)["loss"]
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
