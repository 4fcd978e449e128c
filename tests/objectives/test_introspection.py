"""Introspective learning: the fixed other image, and the loss pair by pair."""

from pathlib import Path

import pytest

from tellapart.models.captioners.up_down import UpDown
from tellapart.models.decoding import log_prob
from tellapart.objectives.introspection import Introspection
from tiny_world import tiny_context


def test_loss_pair_by_pair(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    model = UpDown(hidden=8, attention=8).build(context.inputs)
    objective = Introspection(margin=0.02, weight=2.0, likelihood=0.5).build(model, context).eval()
    batch = context.batches.images_and_captions(context.pack.split("train").images[:4])
    others = context.batches.images(objective.others[batch.image_rows.numpy()])
    own = log_prob(model, batch.images, batch.texts.tokens, batch.owner).tolist()
    other = log_prob(model, others, batch.texts.tokens, batch.owner).tolist()
    words = int((batch.texts.lengths - 1).sum())
    expected = 0.5 * -sum(own) / words
    expected += 2.0 * sum(max(0.0, 0.02 - a + b) for a, b in zip(own, other)) / len(own)
    found = objective(batch)
    assert found["loss"].item() == pytest.approx(expected, rel=1e-4)
    short = [0.02 - a + b > 0 for a, b in zip(own, other)]
    assert any(short) and found["short"].item() == pytest.approx(sum(short) / len(short))


def test_the_other_image_is_fixed_and_never_the_own(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    model = UpDown(hidden=8, attention=8).build(context.inputs)
    first, second = (Introspection(seed=4).build(model, context).others for _ in "ab")
    assert (first == second).all()
    train = context.pack.split("train").images
    assert (first[train] != train).all() and sorted(first[train]) == train.tolist()
