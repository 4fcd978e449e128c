"""ROUGE-L by hand and its longest common subsequence against the textbook loop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.metrics.captions.rouge import common_subsequence, rouge_l


def test_by_hand() -> None:
    """ "a dog runs" against "a brown dog runs": common 3, precision 3/3, recall 3/4; against "a dog": 2/3 and 2/2.

    Maxima are taken apart: P = 1, R = 1, so F = 1.
    """
    assert rouge_l(["a dog runs"], [["a brown dog runs"]]).corpus == pytest.approx(2.44 * 0.75 / (0.75 + 1.44))
    assert rouge_l(["a dog runs"], [["a brown dog runs", "a dog"]]).corpus == pytest.approx(1)


def test_nothing_in_common_is_zero_and_two_empty_captions_are_equal() -> None:
    assert rouge_l(["a", "", ""], [["b"], ["a"], [""]]).each.tolist() == [0, 0, 1]


def longest(first: list[int], second: list[int]) -> int:
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, one in enumerate(first):
        for j, two in enumerate(second):
            table[i + 1][j + 1] = table[i][j] + 1 if one == two else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


word = st.integers(0, 3)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.lists(word, min_size=6, max_size=6), st.lists(word, min_size=8, max_size=8)), min_size=1))
def test_common_subsequence(pairs: list[tuple[list[int], list[int]]]) -> None:
    first, second = (np.array([pair[side] for pair in pairs]).T for side in (0, 1))
    assert common_subsequence(first, second).tolist() == [longest(*pair) for pair in pairs]
