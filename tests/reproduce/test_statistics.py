"""Intervals against scipy and against the paired bootstrap of the metrics."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from tellapart.metrics.retrieval.bootstrap import compare, intervals
from tellapart.metrics.retrieval.recall import Ranks
from tellapart.reproduce.measures import RANKS
from tellapart.reproduce.statistics import (
    Cell,
    bootstrap_draws,
    chi_square_quantile,
    difference,
    mean_cell,
    spread,
    t_quantile,
)


@pytest.mark.parametrize("freedom", [1, 1.7, 2, 4, 30, 500])
def test_t_quantile_is_students(freedom: float) -> None:
    assert math.isclose(t_quantile(freedom), stats.t.ppf(0.975, freedom), rel_tol=1e-4)


@pytest.mark.parametrize("freedom", [1, 4, 20])
@pytest.mark.parametrize("probability", [0.025, 0.5, 0.975])
def test_chi_square_quantile(freedom: int, probability: float) -> None:
    assert math.isclose(chi_square_quantile(freedom, probability), stats.chi2.ppf(probability, freedom), rel_tol=1e-6)


def test_one_seed_against_three_compares_the_first_runs() -> None:
    """The draws are of each row's first run: value and interval must be of the same runs."""
    draws = np.linspace(-1.0, 1.0, 2001)
    estimate = difference(Cell({0: 192.0}, 192 + draws), Cell({0: 198.0, 1: 189.0, 2: 135.0}, 198 - draws))
    assert estimate.value == -6.0 and estimate.low < -6.0 < estimate.high
    assert estimate.how == "the same images, the first run of each"


def test_interval_over_seeds() -> None:
    """1, 2, 3: mean 2, deviation 1, t(2) = 4.303; margin 4.303 / sqrt(3) = 2.484."""
    estimate = Cell({0: 1.0, 1: 2.0, 2: 3.0}).estimate()
    assert estimate.value == 2.0 and math.isclose(estimate.margin or 0, 2.484, abs_tol=1e-3)
    assert estimate.how == "3 seeds"


def test_one_run_has_no_interval_without_items() -> None:
    assert Cell({0: 7.0}).estimate().margin is None


def test_difference_is_welchs() -> None:
    first, second = [10.0, 12.0, 11.0, 13.0], [7.0, 9.0, 5.0]
    ours = difference(Cell(dict(enumerate(first))), Cell(dict(enumerate(second))))
    interval = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    assert math.isclose(ours.low, interval.low, rel_tol=1e-4) and math.isclose(ours.high, interval.high, rel_tol=1e-4)


def test_equal_runs_differ_by_nothing() -> None:
    same = Cell({0: 5.0, 1: 5.0})
    gap = difference(same, same)
    assert (gap.low, gap.value, gap.high) == (0.0, 0.0, 0.0)


def ranks_of(seed: int) -> tuple[Ranks, dict[str, np.ndarray]]:
    random = np.random.default_rng(seed)
    owner = np.repeat(np.arange(40), 5)
    arrays = (random.integers(0, 30, 40), random.integers(0, 30, 200), owner)
    return Ranks(*(torch.from_numpy(array) for array in arrays)), dict(zip(RANKS, arrays))


def test_one_run_each_is_the_paired_bootstrap_of_the_metrics() -> None:
    first, first_items = ranks_of(0)
    second, second_items = ranks_of(1)
    wanted = compare(first, second)["rsum"]
    cells = [Cell({0: 0.0}, bootstrap_draws("rsum", items)) for items in (second_items, first_items)]
    gap = difference(*cells)
    assert math.isclose(gap.low, wanted.low) and math.isclose(gap.high, wanted.high)
    own = intervals(first)["t2i_r5"]
    alone = Cell({0: 0.0}, bootstrap_draws("t2i_r5", first_items)).estimate()
    assert (alone.low, alone.high) == (own.low, own.high)


def test_values_a_image_are_drawn_too() -> None:
    """A figure that is one everywhere is one on every draw."""
    drawn = bootstrap_draws("cider", {"cider": np.ones(12)})
    assert drawn is not None and np.allclose(drawn, 1.0)
    assert bootstrap_draws("bleu4", {"cider": np.ones(12)}) is None


def test_spread_over_seeds() -> None:
    """Deviation of 1, 3 is sqrt 2; chi-squared with one degree is between 0.000982 and 5.024 in 95%."""
    own = spread(Cell({0: 1.0, 1: 3.0}))
    assert math.isclose(own.value, math.sqrt(2))
    assert math.isclose(own.low, math.sqrt(2 / 5.0239), rel_tol=1e-3)
    assert math.isnan(spread(Cell({0: 1.0})).value)


def test_mean_of_rows_goes_seed_by_seed() -> None:
    joined = mean_cell([Cell({0: 1.0, 1: 2.0}), Cell({1: 4.0, 2: 9.0})])
    assert joined is not None and dict(joined.values) == {1: 3.0}
    assert mean_cell([Cell({0: 1.0}), Cell({1: 1.0})]) is None
