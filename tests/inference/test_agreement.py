"""Agreement of captions, worked by hand."""

import math

import pytest

from tellapart.inference.agreement import UNSEEN, agreements

RARITY = {"a": 0.0, "on": 0.0, "dog": 3.0, "sofa": 4.0}


def test_words_and_pairs_are_weighted_by_rarity() -> None:
    """Words: (dog 3, sofa 4) against (dog 3). Pairs: (a dog 3, dog on 3, on a 0, a sofa 4) against (a dog 3)."""
    (found,) = agreements(["a dog on a sofa"], ["a dog"], RARITY)
    words, pairs = 9 / (5 * 3), 9 / (math.sqrt(9 + 9 + 16) * 3)
    assert found == pytest.approx((words + pairs) / 2)


def test_repeated_words_count_twice_and_unlisted_ones_are_rare() -> None:
    """Words: (dog 6, kite UNSEEN) against (dog 3); no pair is shared."""
    (found,) = agreements(["dog kite dog"], ["dog"], RARITY)
    assert found == pytest.approx(6 / math.hypot(6, UNSEEN) / 2)


def test_the_mean_over_typical_captions() -> None:
    each = [agreements(["a dog on a sofa"], [other], RARITY)[0] for other in ("a dog", "a sofa", "a dog on a sofa")]
    (found,) = agreements(["a dog on a sofa"], ["a dog", "a sofa", "a dog on a sofa"], RARITY)
    assert each[2] == pytest.approx(1) and found == pytest.approx(sum(each) / 3)


def test_nothing_to_agree_with() -> None:
    assert agreements(["a dog", ""], [], RARITY) == [0.0, 0.0]
    assert agreements(["", "a"], ["a dog"], RARITY) == [0.0, 0.0]
