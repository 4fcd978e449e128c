"""BLEU by hand; equality with the reference is in test_ngram_metrics_parity."""

import numpy as np
import pytest

from tellapart.core.errors import InputError
from tellapart.metrics.captions.bleu import bleu


def test_by_hand() -> None:
    """Candidate "the the the cat", reference "the cat is on the mat".

    Words: "the" 3 times, at most 2 in the reference; "cat" once: 3 of 4. Pairs: "the the" twice (none), "the cat"
    once (found): 1 of 3. Length 4 against 6: exp(1 - 6/4).
    """
    one, two, *_ = bleu(["the the the cat"], [["the cat is on the mat"]])
    assert one.corpus == pytest.approx(3 / 4 * np.exp(-0.5))
    assert two.corpus == pytest.approx((3 / 4 * 1 / 3) ** 0.5 * np.exp(-0.5))


def test_counts_are_clipped_by_one_reference_not_by_their_sum() -> None:
    one = bleu(["a a"], [["a b", "a c"]])[0]
    assert one.corpus == pytest.approx(1 / 2)


def test_of_two_lengths_as_near_the_shorter_counts() -> None:
    assert bleu(["a b c"], [["a b", "a b c d"]])[0].corpus == pytest.approx(1)


def test_empty_candidate_scores_nothing() -> None:
    score = bleu(["", "a b c d"], [["a"], ["a b c d"]])[3]
    assert score.each[0] == pytest.approx(0, abs=1e-6) and score.each[1] == pytest.approx(1)


def test_rejects_lists_that_do_not_fit() -> None:
    with pytest.raises(InputError, match="1 candidates but 2"):
        bleu(["a"], [["a"], ["b"]])
    with pytest.raises(InputError, match="no reference"):
        bleu(["a"], [[]])
    with pytest.raises(InputError, match="single string"):
        bleu(["a"], ["a"])  # type: ignore[list-item]
    with pytest.raises(InputError, match="nothing to score"):
        bleu([], [])
