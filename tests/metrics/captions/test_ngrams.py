"""Numbering n-grams equals counting tuples."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.metrics.captions.ngrams import levels


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), max_size=6), min_size=1, max_size=5))
def test_equal_ngrams_get_equal_numbers(captions: list[list[int]]) -> None:
    lengths = np.array([len(caption) for caption in captions])
    words = np.array([word for caption in captions for word in caption], np.int64)
    starts = np.cumsum(lengths) - lengths
    for n, level in enumerate(levels(words, lengths, 4), start=1):
        wanted = {
            int(start) + i: tuple(caption[i : i + n])
            for start, caption in zip(starts, captions)
            for i in range(len(caption) - n + 1)
        }
        assert sorted(level.places.tolist()) == sorted(wanted)
        kinds = dict(zip(level.places.tolist(), level.kinds.tolist()))
        assert len(set(kinds.values())) == len(set(wanted.values()))
        assert len(set(zip((kinds[p] for p in wanted), wanted.values()))) == len(set(wanted.values()))
        assert int(level.is_new.sum()) == len(set(wanted.values()))
