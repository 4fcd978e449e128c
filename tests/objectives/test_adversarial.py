"""The adversarial baseline: its equations written out, each part of the loss moves its own parameters, and the
evaluator learns."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart.core.types import Batch
from tellapart.models.captioners.neuraltalk import NeuralTalk2
from tellapart.models.decoding import Decoded, log_prob, sample, with_start
from tellapart.objectives.adversarial import Adversarial, AdversarialObjective
from tellapart.text.vocabulary import PAD
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


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def judged(objective: AdversarialObjective, batch: Batch, caption: list[int], image: int) -> float:
    """r(I, c) = sigmoid(f(I) . g(c)), word by word: f is linear on the scaled features, g the LSTM's last state."""
    weights = {name: value.detach().double().numpy() for name, value in objective.evaluator.state_dict().items()}
    shown = batch.images.features[image][batch.images.mask[image]].double().numpy().mean(0)
    unit = shown / np.linalg.norm(shown) * math.sqrt(len(shown))
    own = weights["image.weight"] @ unit + weights["image.bias"]
    hidden = cell = np.zeros(len(own))
    for word in (word for word in caption if word != PAD):
        gates = weights["lstm.weight_ih_l0"] @ weights["words.weight"][word] + weights["lstm.bias_ih_l0"]
        gates = gates + weights["lstm.weight_hh_l0"] @ hidden + weights["lstm.bias_hh_l0"]
        enter, keep, new, leave = np.split(gates, 4)
        gate = np.vectorize(sigmoid)
        cell = gate(keep) * cell + gate(enter) * np.tanh(new)
        hidden = gate(leave) * np.tanh(cell)
    return sigmoid(float(own @ hidden) * float(weights["scale"]) + float(weights["bias"]))


def sharpened(folder: Path, **settings: int) -> tuple[AdversarialObjective, Batch, Decoded, torch.Tensor]:
    """An objective whose evaluator is far from undecided, with sampled captions and their images."""
    objective, batch = made(folder, **settings)
    with torch.no_grad():
        for parameter in objective.evaluator.parameters():
            parameter.add_(torch.randn_like(parameter))
    drawn = sample(objective.model, batch.images, 3, max_words=5)
    return objective, batch, drawn, torch.arange(len(batch.images)).repeat_interleave(3)


def test_evaluator_loss_is_its_equation(tmp_path: Path) -> None:
    """-E ln r(human) - E ln(1 - r(generated)) - E ln(1 - r(of another image)), every caption judged alone."""
    objective, batch, drawn, owner = sharpened(tmp_path)
    generated = with_start(drawn.tokens)
    count = len(batch.images)
    pairs = list(zip(batch.texts.tokens.tolist(), batch.owner.tolist()))
    wanted = -np.mean([math.log(judged(objective, batch, caption, image)) for caption, image in pairs])
    wanted -= np.mean(
        [math.log(1 - judged(objective, batch, caption, (image + 1) % count)) for caption, image in pairs]
    )
    fakes = zip(generated.tolist(), owner.tolist())
    wanted -= np.mean([math.log(1 - judged(objective, batch, caption, image)) for caption, image in fakes])
    assert objective.evaluator_loss(batch, generated, owner).item() == pytest.approx(wanted, rel=1e-4)


def test_policy_loss_is_its_equation(tmp_path: Path) -> None:
    """-sum over captions of (r - mean r of the image's other samples) ln p(c|I), over the number of words."""
    objective, batch, drawn, owner = sharpened(tmp_path)
    loss, reward = objective.policy_loss(batch, drawn, owner)
    generated = with_start(drawn.tokens)
    rewards = [judged(objective, batch, row, int(own)) for row, own in zip(generated.tolist(), owner)]
    assert reward.item() == pytest.approx(np.mean(rewards), rel=1e-4)
    assert drawn.word_log_probability is not None
    total, words = 0.0, 0
    for place, row in enumerate(drawn.tokens.tolist()):
        others = [rewards[other] for other in range(len(rewards)) if other != place and owner[other] == owner[place]]
        length = sum(word != PAD for word in row)
        log_probability = float(drawn.word_log_probability[place, :length].sum())
        total -= (rewards[place] - sum(others) / len(others)) * log_probability
        words += length
    assert loss.item() == pytest.approx(total / words, rel=1e-3, abs=1e-6)


def test_the_policy_makes_well_judged_captions_likelier(tmp_path: Path) -> None:
    """One small step along the gradient: captions above their baseline gain, on balance, and those below lose."""
    objective, batch, drawn, owner = sharpened(tmp_path)
    objective.model.eval()
    torch.manual_seed(3)
    drawn = sample(objective.model, batch.images, 3, max_words=5)
    rewards = objective.rewards(batch.images, drawn.tokens, owner)
    advantage = rewards - (rewards.view(-1, 3).sum(1, keepdim=True) - rewards.view(-1, 3)).div(2).view(-1)
    generated = with_start(drawn.tokens)
    with torch.no_grad():
        before = log_prob(objective.model, batch.images, generated, owner)
    loss, _ = objective.policy_loss(batch, drawn, owner)
    loss.backward()
    with torch.no_grad():
        for parameter in objective.model.parameters():
            if parameter.grad is not None:
                parameter -= 0.1 * parameter.grad
        gained = log_prob(objective.model, batch.images, generated, owner) - before
    assert float((advantage * gained).sum()) > 0
    assert float(gained[advantage.argmax()]) > float(gained[advantage.argmin()])
