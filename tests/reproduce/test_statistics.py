"""Cells: quantiles against scipy, intervals over seeds, draws over images."""

import math
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from tellapart.metrics.retrieval.bootstrap import intervals
from tellapart.metrics.retrieval.recall import Ranks
from tellapart.reproduce.cache import Cache
from tellapart.reproduce.draws import bootstrap_draws, drawn_of_run
from tellapart.reproduce.measures import RANKS
from tellapart.reproduce.quantiles import chi_square_quantile, t_quantile, t_sample
from tellapart.reproduce.statistics import Cell, mean_cell, spread


@pytest.mark.parametrize("freedom", [1, 1.7, 2, 4, 30, 500])
def test_t_quantile_is_students(freedom: float) -> None:
    assert math.isclose(t_quantile(freedom), stats.t.ppf(0.975, freedom), rel_tol=1e-4)


@pytest.mark.parametrize("freedom", [1, 2.5, 7])
def test_t_sample_is_students(freedom: float) -> None:
    wanted = stats.t.ppf((np.arange(100) + 0.5) / 100, freedom)
    assert np.allclose(t_sample(freedom, 100), wanted, rtol=1e-3)


@pytest.mark.parametrize("freedom", [1, 4, 20])
@pytest.mark.parametrize("probability", [0.025, 0.5, 0.975])
def test_chi_square_quantile(freedom: int, probability: float) -> None:
    assert math.isclose(chi_square_quantile(freedom, probability), stats.chi2.ppf(probability, freedom), rel_tol=1e-6)


def test_interval_over_seeds() -> None:
    """1, 2, 3: mean 2, deviation 1, t(2) = 4.303; margin 4.303 / sqrt(3) = 2.484."""
    estimate = Cell({0: 1.0, 1: 2.0, 2: 3.0}).estimate()
    assert estimate.value == 2.0 and math.isclose(estimate.margin or 0, 2.484, abs_tol=1e-3)
    assert estimate.how == "3 seeds" and estimate.seeds == 3


def test_one_run_has_no_interval_without_items() -> None:
    assert Cell({0: 7.0}).estimate().margin is None


def test_one_run_has_the_interval_over_images() -> None:
    random = np.random.default_rng(0)
    owner = np.repeat(np.arange(40), 5)
    arrays = (random.integers(0, 30, 40), random.integers(0, 30, 200), owner)
    wanted = intervals(Ranks(*(torch.from_numpy(array) for array in arrays)))["t2i_r5"]
    drawn = bootstrap_draws("t2i_r5", dict(zip(RANKS, arrays)))
    assert drawn is not None
    alone = Cell({0: 0.0}, {0: drawn}).estimate()
    assert (alone.low, alone.high) == (wanted.low, wanted.high)


def test_values_per_image_are_drawn_too() -> None:
    """A value that is one everywhere is one on every draw."""
    items = {"cider": np.ones(12), "said": np.asarray(["a"] * 12), "rows": np.arange(12)}
    drawn = bootstrap_draws("cider", items)
    assert drawn is not None and np.allclose(drawn, 1.0)
    assert bootstrap_draws("bleu4", items) is None


def test_stored_draws_come_before_computed_ones() -> None:
    found = bootstrap_draws("cider", {"cider": np.ones(12), "drawn_cider": np.full(2000, 3.0, dtype=np.float32)})
    assert found is not None and (found == 3.0).all()


def test_draws_of_a_cached_run_are_those_of_its_items(tmp_path: Path) -> None:
    """From ranks, from one value per image and as stored; a rewritten file is read again."""
    random = np.random.default_rng(0)
    ranks = dict(zip(RANKS, (random.integers(0, 9, 20), random.integers(0, 9, 40), np.repeat(np.arange(20), 2))))
    items = ranks | {"own": random.random(20), "drawn_rsum": random.random(2000)}
    cache = Cache(tmp_path)
    path = cache.items_path("key", "retrieval")
    assert drawn_of_run(cache, "key", "retrieval", "own") is None
    path.parent.mkdir(parents=True)
    np.savez(path, **items)
    for metric in ("own", "rsum", "t2i_r5"):
        found, wanted = drawn_of_run(cache, "key", "retrieval", metric), bootstrap_draws(metric, items)
        assert found is not None and wanted is not None and np.array_equal(found, wanted)
    assert drawn_of_run(cache, "key", "retrieval", "bleu4") is None
    np.savez(path, own=np.ones(20))
    os.utime(path, ns=(1, 1))
    again = drawn_of_run(cache, "key", "retrieval", "own")
    assert again is not None and np.allclose(again, 1.0)


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


def test_draws_of_the_mean_of_rows_go_seed_by_seed() -> None:
    first = Cell({0: 1.0, 1: 2.0}, {0: np.array([0.0, 2.0]), 1: np.array([1.0, 3.0])})
    second = Cell({0: 3.0, 1: 4.0}, {1: np.array([3.0, 5.0])})
    joined = mean_cell([first, second])
    assert joined is not None and list(joined.draws) == [1]
    assert joined.draws[1].tolist() == [2.0, 4.0]
    assert joined.mean_draws((0, 1)) is None
