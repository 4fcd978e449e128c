"""Bootstrap intervals: against a resampling loop, coverage of the point, and paired comparisons."""

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.metrics.retrieval.bootstrap import compare, intervals
from tellapart.metrics.retrieval.recall import Ranks, retrieval_ranks, summarise


def made_up(seed: int, gain: float) -> Ranks:
    generator = torch.Generator().manual_seed(seed)
    owner = torch.arange(60).repeat_interleave(2)
    scores = torch.randn(60, 120, generator=generator)
    scores[owner, torch.arange(120)] += gain
    return retrieval_ranks(scores, owner)


def test_intervals_equal_a_loop_that_draws_images() -> None:
    ranks = made_up(0, 2.0)
    found = intervals(ranks, samples=50, seed=3)
    random = np.random.default_rng(3)
    values = []
    for counts in random.multinomial(60, [1 / 60] * 60, size=50):
        drawn = np.repeat(np.arange(60), counts)
        forward = ranks.image_to_text.numpy()[drawn]
        backward = np.concatenate([ranks.text_to_image.numpy()[ranks.owner.numpy() == p] for p in drawn])
        values.append(sum(100 * np.mean(r < k) for r in (forward, backward) for k in (1, 5, 10)))
    low, high = np.percentile(values, (2.5, 97.5))
    assert found["rsum"].low == pytest.approx(low) and found["rsum"].high == pytest.approx(high)


def test_the_interval_holds_the_figure_itself() -> None:
    ranks = made_up(1, 2.0)
    for name, interval in intervals(ranks).items():
        assert interval.low <= summarise(ranks)[name] <= interval.high


def test_a_better_model_differs_from_a_worse_one_and_not_from_itself() -> None:
    worse, better = made_up(2, 1.0), made_up(2, 3.0)
    verdict = compare(worse, better)["rsum"]
    assert verdict.difference > 0 and verdict.low > 0 and verdict.p < 0.01
    assert verdict.difference == pytest.approx(summarise(better)["rsum"] - summarise(worse)["rsum"])
    itself = compare(worse, worse)["rsum"]
    assert itself.difference == 0 and itself.p == 1


def test_other_queries_are_rejected() -> None:
    small = retrieval_ranks(torch.eye(3), torch.arange(3))
    with pytest.raises(InputError, match="same images"):
        compare(made_up(0, 1.0), small)
