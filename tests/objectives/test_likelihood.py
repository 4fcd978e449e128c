"""Maximum likelihood as an objective: the mean over words, scheduled sampling, what a checkpoint keeps."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.models.captioners.adaptive_attention import AdaptiveAttention
from tellapart.models.captioners.neuraltalk import NeuralTalk2
from tellapart.models.decoding import log_prob
from tellapart.objectives import likelihood
from tellapart.objectives.likelihood import Likelihood, sampled_predictions
from tiny_world import tiny_context


def test_loss_is_minus_log_probability_a_word(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    model = AdaptiveAttention(hidden=8, attention=8).build(context.inputs)
    objective = Likelihood().build(model, context).eval()
    batch = context.batches.batch(context.pack.split("train").captions)
    total = log_prob(model, batch.images, batch.texts.tokens, batch.owner).sum()
    words = (batch.texts.lengths - 1).sum()
    assert objective(batch)["loss"].item() == pytest.approx(float(-total / words), rel=1e-5)


def test_it_learns(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    torch.manual_seed(0)
    objective = Likelihood(smoothing=0.1).build(NeuralTalk2(hidden=16, dropout=0.0).build(context.inputs), context)
    optimiser = torch.optim.Adam(objective.parameters(), 0.02)
    batch = context.batches.batch(context.pack.split("train").captions)
    losses = []
    for _ in range(40):
        optimiser.zero_grad()
        loss = objective(batch)["loss"]
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]


def test_sampling_rises_with_epochs(tmp_path: Path) -> None:
    """16 captions per epoch; 0.05 more every 2 epochs, at most 0.12."""
    context = tiny_context(tmp_path)
    config = Likelihood(sampling_most=0.12, sampling_rise=0.05, sampling_every=2)
    objective = config.build(NeuralTalk2(hidden=8).build(context.inputs), context)
    assert objective.captions == 16
    shares = []
    for seen in (0, 31, 32, 64, 96, 960):
        objective.seen.fill_(seen)
        shares.append(objective.share())
    assert shares == pytest.approx([0, 0, 0.05, 0.10, 0.12, 0.12])
    assert "seen" in objective.state_dict()


def test_a_step_that_was_not_prepared_prepares_itself(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    objective = Likelihood(sampling_most=0.5).build(NeuralTalk2(hidden=8).build(context.inputs), context).train()
    batch = context.batches.batch(context.pack.split("train").captions[:5])
    objective(batch)
    assert int(objective.seen) == 5
    objective(batch, objective.prepare(batch))
    assert int(objective.seen) == 10


@pytest.mark.parametrize(("most", "every"), [(0.0, 1), (1.0, 1), (0.5, 2)])
def test_the_ends_of_a_schedule_are_allowed(tmp_path: Path, most: float, every: int) -> None:
    context = tiny_context(tmp_path)
    config = Likelihood(sampling_most=most, sampling_every=every)
    assert config.build(NeuralTalk2(hidden=8).build(context.inputs), context).share() == 0


def test_captions_of_all_processes_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five captions here and about five in each of two other processes."""
    context = tiny_context(tmp_path)
    objective = Likelihood(sampling_most=0.5).build(NeuralTalk2(hidden=8).build(context.inputs), context).train()
    monkeypatch.setattr(likelihood, "group", lambda: SimpleNamespace(world=3, rank=0))
    batch = context.batches.batch(context.pack.split("train").captions[:5])
    objective.prepare(batch)
    objective.prepare(batch)
    assert int(objective.seen) == 30


@pytest.mark.parametrize("settings", [{"sampling_most": 1.2}, {"sampling_most": 0.2, "sampling_every": 0}])
def test_a_schedule_that_cannot_be_is_rejected(tmp_path: Path, settings: dict[str, float]) -> None:
    context = tiny_context(tmp_path)
    with pytest.raises(InputError, match="sampling_most must lie"):
        Likelihood(**settings).build(NeuralTalk2(hidden=8).build(context.inputs), context)  # type: ignore[arg-type]


def test_sampling_nothing_is_teacher_forcing(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    model = NeuralTalk2(hidden=8).build(context.inputs).eval()
    batch = context.batches.batch(context.pack.split("train").captions[:5])
    objective = Likelihood().build(model, context).eval()
    none = sampled_predictions(model, batch, 0.0)
    torch.testing.assert_close(none.logits, objective.predict(batch).logits, atol=1e-5, rtol=1e-5)
    some = sampled_predictions(model, batch, 1.0)
    assert some.targets.tolist() == none.targets.tolist() and not torch.allclose(some.logits, none.logits)
