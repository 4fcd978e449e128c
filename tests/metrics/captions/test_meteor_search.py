"""The search for all pairs at once takes the path that the search path by path takes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.metrics.captions.meteor import search
from tellapart.metrics.captions.meteor import search_one as one_by_one
from tellapart.metrics.captions.meteor.matches import Matches
from tellapart.metrics.captions.meteor.search import best_alignments
from tellapart.metrics.captions.meteor.search_one import search_one

match = st.tuples(st.integers(0, 7), st.integers(1, 2), st.integers(0, 7), st.integers(1, 2), st.integers(0, 3))
pairs = st.lists(st.lists(match, max_size=14), min_size=1, max_size=6)
LENGTH = 9


@settings(max_examples=150, deadline=None)
@given(pairs)
def test_all_at_once_equals_one_by_one(drawn: list[list[tuple[int, int, int, int, int]]]) -> None:
    together, apart = both(drawn)
    assert together == apart


@pytest.mark.parametrize("width", [1, 2, 5])
def test_both_keep_the_same_few_paths(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With narrow beams most paths are dropped, so that it matters which."""
    monkeypatch.setattr(search, "BEAM", width)
    monkeypatch.setattr(one_by_one, "BEAM", width)
    random = np.random.default_rng(0)
    for _ in range(20):
        shape = (5, 14)
        parts = [random.integers(low, high, shape).tolist() for low, high in ((0, 8), (1, 3), (0, 8), (1, 3), (0, 4))]
        together, apart = both([list(zip(*rows)) for rows in zip(*parts)])
        assert together == apart


def both(drawn: list[list[tuple[int, int, int, int, int]]]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Chunks and used bits of each pair by both searches.

    drawn: matches of several pairs as (start, length, start and length in the candidate, module).
    """
    rows = [
        (pair, start, length if module == 3 else 1, begin, width if module == 3 else 1, module)
        for pair, matches in enumerate(drawn)
        for start, length, begin, width, module in sorted(matches, key=lambda found: (found[0], found[4]))
    ]
    matches = Matches(*np.array(rows, np.int64).reshape(-1, 6).T)
    bits = [np.uint64(1) << np.arange(len(rows), dtype=np.uint64) % np.uint64(64) for _ in range(2)]
    found = best_alignments(matches, np.full(len(drawn), LENGTH), *bits)
    apart = []
    for pair in range(len(drawn)):
        mine = slice(*np.searchsorted(matches.pair, [pair, pair + 1]))
        used, chunks = search_one(matches, mine, LENGTH, LENGTH)
        apart.append((int(chunks), int(bits[0][used].sum(dtype=np.uint64))))
    return list(zip(map(int, found.chunks), map(int, found.candidate_counts))), apart


def test_no_matches_at_all() -> None:
    nothing = Matches(*(np.zeros(0, np.int64) for _ in range(6)))
    found = best_alignments(nothing, np.array([0, 3]), np.zeros(0, np.uint64), np.zeros(0, np.uint64))
    assert found.chunks.tolist() == [0, 0] and found.candidate_counts.tolist() == [0, 0]
