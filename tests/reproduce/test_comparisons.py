"""Differences between rows: pairs by hand, Welch and the pooled case, and coverage by simulation."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from tellapart.metrics.retrieval.bootstrap import compare
from tellapart.metrics.retrieval.recall import Ranks
from tellapart.reproduce.comparisons import SeedError, against_bound, difference, two_level
from tellapart.reproduce.draws import bootstrap_draws
from tellapart.reproduce.measures import RANKS
from tellapart.reproduce.statistics import Cell, Estimate


def test_same_seeds_are_paired() -> None:
    """Gaps 1, 2, 3: mean 2, deviation 1, t(2) = 4.303; margin 4.303 / sqrt(3) = 2.484. The rows themselves vary by 10
    from seed to seed, which Welch would count twice."""
    base = {0: 10.0, 1: 20.0, 2: 30.0}
    gap = difference(Cell({0: 11.0, 1: 22.0, 2: 33.0}), Cell(base))
    assert gap.value == 2.0 and math.isclose(gap.margin or 0, 2.484, abs_tol=1e-3)
    assert gap.how == "paired t: 3 paired seeds" and gap.seeds == 3


def test_paired_is_scipys() -> None:
    first, second = [10.0, 12.0, 11.0, 13.0], [7.0, 9.5, 5.0, 8.0]
    ours = difference(Cell(dict(enumerate(first))), Cell(dict(enumerate(second))))
    wanted = stats.ttest_rel(first, second).confidence_interval(0.95)
    assert math.isclose(ours.low, wanted.low, rel_tol=1e-4) and math.isclose(ours.high, wanted.high, rel_tol=1e-4)


def test_pairs_go_by_seed_not_by_place() -> None:
    gap = difference(Cell({2: 33.0, 0: 11.0, 1: 22.0}), Cell({0: 10.0, 1: 20.0, 2: 30.0}))
    assert gap.value == 2.0 and math.isclose(gap.margin or 0, 2.484, abs_tol=1e-3)


def test_three_common_seeds_of_more_are_paired() -> None:
    gap = difference(Cell({0: 11.0, 1: 22.0, 2: 33.0, 7: 900.0}), Cell({0: 10.0, 1: 20.0, 2: 30.0}))
    assert gap.value == 2.0 and gap.how == "paired t: 3 paired seeds"


def test_other_seeds_are_compared_by_welch() -> None:
    first, second = [10.0, 12.0, 11.0, 13.0], [7.0, 9.0]
    ours = difference(Cell(dict(enumerate(first))), Cell(dict(enumerate(second))))
    interval = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    assert math.isclose(ours.low, interval.low, rel_tol=1e-4) and math.isclose(ours.high, interval.high, rel_tol=1e-4)
    assert ours.how == "Welch t: 4 and 2 seeds" and ours.seeds == 2


def test_one_run_against_three_uses_all_seeds() -> None:
    """198, 189, 135 have the mean 174 and not the value of seed 0; their deviation, 34.1, stands for that of the single
    run: 34.1 x sqrt(1 + 1/3) x t(2) = 169."""
    gap = difference(Cell({0: 192.0}), Cell({0: 198.0, 1: 189.0, 2: 135.0}))
    assert gap.value == 18.0 and gap.seeds == 1
    wanted = np.std([198, 189, 135], ddof=1) * math.sqrt(4 / 3) * stats.t.ppf(0.975, 2)
    assert math.isclose(gap.margin or 0, wanted, rel_tol=1e-4)
    assert gap.how == "t, as if both varied alike: 1 and 3 seeds"


def test_equal_runs_differ_by_nothing() -> None:
    same = Cell({0: 5.0, 1: 5.0})
    for other in (same, Cell({2: 5.0, 3: 5.0})):
        gap = difference(same, other)
        assert (gap.low, gap.value, gap.high) == (0.0, 0.0, 0.0)


def test_one_run_each_without_images_has_no_interval() -> None:
    gap = difference(Cell({0: 7.0}), Cell({0: 5.0}))
    assert gap.value == 2.0 and math.isnan(gap.low) and gap.how == "1 seed, no interval"


def ranks_of(seed: int) -> tuple[Ranks, dict[str, np.ndarray]]:
    random = np.random.default_rng(seed)
    owner = np.repeat(np.arange(40), 5)
    arrays = (random.integers(0, 30, 40), random.integers(0, 30, 200), owner)
    return Ranks(*(torch.from_numpy(array) for array in arrays)), dict(zip(RANKS, arrays))


def test_one_run_each_is_the_paired_bootstrap_of_the_metrics() -> None:
    first, first_items = ranks_of(0)
    second, second_items = ranks_of(1)
    wanted = compare(first, second)["rsum"]
    drawn = [bootstrap_draws("rsum", items) for items in (second_items, first_items)]
    cells = [Cell({0: value}, {0: one}) for value, one in zip((wanted.difference, 0.0), drawn) if one is not None]
    gap = difference(*cells)
    moved = wanted.difference - float(np.mean(cells[0].draws[0] - cells[1].draws[0]))
    assert abs(moved) < 1  # the mean over draws is the value but for chance
    assert math.isclose(gap.low, wanted.low + moved) and math.isclose(gap.high, wanted.high + moved)
    assert gap.how == "bootstrap: images, 1 seed"


def test_two_levels_without_images_are_the_t_interval() -> None:
    low, high = two_level(np.full(2000, 2.0), SeedError(0.5, 2))
    assert math.isclose(high - 2, 0.5 * stats.t.ppf(0.975, 2), rel_tol=0.02)
    assert math.isclose(2 - low, high - 2, rel_tol=1e-9)


def test_two_levels_without_seeds_are_the_bootstrap_over_images() -> None:
    drawn = np.random.default_rng(0).normal(size=2000)
    assert np.allclose(two_level(drawn, SeedError(0.0, 2)), np.percentile(drawn, (2.5, 97.5)))


def test_two_levels_add_up_and_name_themselves() -> None:
    """Images with a deviation of 3 and many seeds with an error of 4: together 5."""
    drawn = np.random.default_rng(1).normal(scale=3.0, size=2000)
    low, high = two_level(drawn, SeedError(4.0, 1e4))
    assert math.isclose(high - low, 2 * 1.96 * 5, rel_tol=0.05)
    cells = [Cell({0: 1.0 + add, 1: 2.0 + add}, {0: drawn + add, 1: drawn + add}) for add in (1.0, 0.0)]
    gap = difference(*cells)
    assert gap.how == "two-level bootstrap: 2 paired seeds and images" and gap.images == pytest.approx((1.0, 1.0))
    assert against_bound(cells[0]).how == "two-level bootstrap: 2 seeds and images"


def test_a_metric_that_is_lower_on_draws_keeps_its_value_in_the_middle() -> None:
    """Draws that are all 3 too low, symmetric in themselves."""
    gap = difference(Cell({0: 10.0}, {0: np.linspace(6, 8, 2001)}), Cell({0: 0.0}, {0: np.zeros(2001)}))
    assert gap.low == pytest.approx(9.05) and gap.high == pytest.approx(10.95)


def test_draws_are_the_mean_over_all_seeds() -> None:
    """Seed 0 alone gains 10 on every image; the mean over both seeds gains 5."""
    flat = np.zeros(2000)
    first = Cell({0: 10.0, 1: 0.0}, {0: flat + 10, 1: flat})
    gap = difference(first, Cell({0: 0.0, 1: 0.0}, {0: flat, 1: flat}))
    assert gap.value == 5.0 and gap.images == (5.0, 5.0)


def test_same_values_same_interval() -> None:
    drawn = np.random.default_rng(2).normal(size=2000)
    first, second = (Cell({0: 1.0, 1: 2.5}, {0: drawn, 1: drawn * part}) for part in (2.0, 0.5))
    assert difference(first, second) == difference(first, second)


def simulated(random: np.random.Generator, seeds: int, images: int = 100, samples: int = 300) -> Estimate:
    """Two rows with the same mean: a shared first stage, seeds of their own, hard images, and images that one of the
    rows finds hard."""
    weights = random.multinomial(images, [1 / images] * images, size=samples) / images
    shared, easy = random.normal(scale=2.0, size=seeds), random.normal(scale=5.0, size=images)
    cells = []
    for _ in range(2):
        own = random.normal(scale=1.0, size=seeds)
        taste = random.normal(scale=5.0, size=images)
        items = (shared + own)[:, None] + easy + taste + random.normal(size=(seeds, images))  # [S, I]
        values = {seed: float(items[seed].mean()) for seed in range(seeds)}
        cells.append(Cell(values, {seed: weights @ items[seed] for seed in range(seeds)}))
    return difference(*cells)


@pytest.mark.parametrize("seeds", [3, 5])
def test_two_level_intervals_cover_the_truth(seeds: int) -> None:
    """The rows do not differ in the long run, over seeds and images: about 95% of the intervals contain 0."""
    random = np.random.default_rng(seeds)
    found = [simulated(random, seeds) for _ in range(400)]
    share = np.mean([gap.low < 0 < gap.high for gap in found])
    assert 0.93 <= share <= 0.995
    over_images = np.mean([gap.images is not None and gap.images[0] < 0 < gap.images[1] for gap in found])
    assert over_images < 0.9 if seeds == 3 else over_images < share


@pytest.mark.parametrize("seeds", [3, 5, 8])
def test_paired_intervals_cover_the_truth_and_are_shorter_than_welchs(seeds: int) -> None:
    random = np.random.default_rng(seeds)
    hits, widths, independent = [], [], []
    for _ in range(1000):
        shared = random.normal(scale=3.0, size=seeds)
        rows = [dict(enumerate(shared + random.normal(size=seeds))) for _ in range(2)]
        gap = difference(*(Cell(row) for row in rows))
        hits.append(gap.low < 0 < gap.high)
        widths.append(gap.high - gap.low)
        moved = {seed + 100: value for seed, value in rows[1].items()}
        welch = difference(Cell(rows[0]), Cell(moved))
        independent.append(welch.high - welch.low)
    assert 0.93 <= np.mean(hits) <= 0.97
    assert np.mean(widths) < 0.8 * np.mean(independent)
