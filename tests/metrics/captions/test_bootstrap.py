"""Intervals of caption metrics: means, sums of counts, pairs."""

import numpy as np
import pytest

from tellapart.core.errors import InputError
from tellapart.metrics.captions.bleu import bleu
from tellapart.metrics.captions.bootstrap import interval, paired_difference, resampled
from tellapart.metrics.captions.values import Score

CANDIDATES = ["a dog runs", "a cat", "the bird flies high", "two men", "a red ball"] * 8
REFERENCES = [["a dog is running"], ["a cat sits"], ["a bird flies"], ["two men talk"], ["the red ball"]] * 8


def test_a_mean_resampled_is_the_mean_of_the_drawn() -> None:
    values = np.random.default_rng(7).random(400)
    drawn = resampled(Score(float(values.mean()), values), samples=500)
    assert len(drawn) == 500 and drawn.mean() == pytest.approx(values.mean(), abs=0.005)
    assert drawn.std() == pytest.approx(values.std() / 20, rel=0.15)


def test_bleu_is_recomputed_from_summed_counts() -> None:
    """All images drawn equally often give the corpus value itself, which is not the mean over captions."""
    score = bleu(CANDIDATES, REFERENCES)[1]
    assert score.sums is not None
    whole = score.sums.value(3 * score.sums.columns.sum(0, keepdims=True))
    assert whole[0] == pytest.approx(score.corpus, abs=1e-9)
    found = interval(score, samples=200)
    assert found.low < score.corpus < found.high
    assert score.corpus != pytest.approx(score.each.mean(), abs=0.01)


def test_a_system_against_itself_differs_by_nothing_and_a_better_one_by_more() -> None:
    score = bleu(CANDIDATES, REFERENCES)[0]
    same = paired_difference(score, score)
    assert (same.value, same.low, same.high) == (0, 0, 0)
    better = bleu([group[0] for group in REFERENCES], REFERENCES)[0]
    assert paired_difference(score, better).low > 0


def test_other_images_cannot_be_paired() -> None:
    with pytest.raises(InputError, match="same images"):
        paired_difference(Score(0, np.zeros(2)), Score(0, np.zeros(3)))
