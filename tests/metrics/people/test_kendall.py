"""Kendall's tau against counting pairs, and against SciPy where it is installed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.metrics.people.kendall import tau_b, tau_c

values = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), min_size=2, max_size=30)


@settings(max_examples=60, deadline=None)
@given(values)
def test_equals_scipy(drawn: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    first, second = np.array(drawn).T
    assert tau_b(first, second) == pytest.approx(stats.kendalltau(first, second, variant="b").statistic, nan_ok=True)
    if len(set(first)) > 1 and len(set(second)) > 1:
        assert tau_c(first, second) == pytest.approx(stats.kendalltau(first, second, variant="c").statistic)


def test_by_hand() -> None:
    """Items (1,1) (2,2) (3,1): one pair agrees, one disagrees, one is tied in the second: 0 for either tau."""
    assert tau_b(np.array([1, 2, 3]), np.array([1, 2, 1])) == 0
    assert tau_c(np.array([1, 2, 3]), np.array([1, 2, 1])) == 0


def test_all_alike_has_no_tau() -> None:
    assert np.isnan(tau_b(np.ones(3), np.arange(3))) and np.isnan(tau_c(np.ones(3), np.arange(3)))
