"""Differences between rows, and rows against a bound, with intervals over seeds and images.

Two rows are paired seed by seed: runs with one seed share the order of batches and often a first stage, so that they
are high or low together. Rows whose seeds differ are compared as independent (Welch); a row with one run is assumed to
vary as the other does.

Where the values of single images are known, the interval is a two-level bootstrap. Its first level are images: 2,000
test sets, drawn with replacement, the same for both rows and all seeds. Its second level are seeds: the error of the
mean over seeds is drawn from its t distribution. Three seeds drawn with replacement would give ten different samples
and intervals that are too short; t draws have the right length for any number of seeds. Without a difference between
seeds this is the bootstrap over images, and without a difference between images the t interval over seeds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tellapart.reproduce.quantiles import t_quantile, t_sample
from tellapart.reproduce.statistics import Cell, Estimate, deviation, interval_of, standard_error

ENOUGH_TO_PAIR = 3
"""Common seeds from which rows with different sets of seeds are paired; below, all seeds are compared unpaired."""
ROUNDS = 10
"""How often each bootstrapped test set meets another draw of the seeds' error."""


@dataclass(frozen=True)
class SeedError:
    """The error of a mean, or of a difference of means, over seeds."""

    size: float
    freedom: float


def difference(first: Cell, second: Cell) -> Estimate:
    """First minus second, with its interval over seeds and images."""
    seeds = common_seeds(first, second)
    if seeds:
        gaps = [first.values[seed] - second.values[seed] for seed in seeds]
        drawn = _minus(first.mean_draws(seeds), second.mean_draws(seeds))
        error = SeedError(standard_error(gaps), len(gaps) - 1)
        return _estimate(sum(gaps) / len(gaps), drawn, error, ("paired t", f"{len(gaps)} paired seeds", len(gaps)))
    a, b = list(first.values.values()), list(second.values.values())
    gap = sum(a) / len(a) - sum(b) / len(b)
    drawn = _minus(first.mean_draws(tuple(first.values)), second.mean_draws(tuple(second.values)))
    if len(a) == len(b) == 1:
        return _estimate(gap, drawn, None, ("", "1 seed", 1))
    method = "Welch t" if min(len(a), len(b)) > 1 else "t, as if both varied alike"
    return _estimate(gap, drawn, _unpaired(a, b), (method, f"{len(a)} and {len(b)} seeds", min(len(a), len(b))))


def against_bound(cell: Cell) -> Estimate:
    """The mean of a row with its interval over seeds and images, for claims about one row."""
    numbers = list(cell.values.values())
    drawn = cell.mean_draws(tuple(cell.values))
    mean = sum(numbers) / len(numbers)
    if len(numbers) == 1:
        return _estimate(mean, drawn, None, ("", "1 seed", 1))
    error = SeedError(standard_error(numbers), len(numbers) - 1)
    return _estimate(mean, drawn, error, ("t", f"{len(numbers)} seeds", len(numbers)))


def common_seeds(first: Cell, second: Cell) -> tuple[int, ...]:
    """The seeds by which two rows are paired; empty where they are compared as independent."""
    both = tuple(sorted(set(first.values) & set(second.values)))
    same = set(first.values) == set(second.values)
    return both if len(both) >= (2 if same else ENOUGH_TO_PAIR) else ()


def _unpaired(a: list[float], b: list[float]) -> SeedError:
    """Welch's standard error and Satterthwaite's degrees of freedom; with one run on a side, the other's deviation."""
    if min(len(a), len(b)) == 1:
        many = a if len(a) > 1 else b
        return SeedError(deviation(many) * math.sqrt(1 / len(a) + 1 / len(b)), len(many) - 1)
    parts = [standard_error(numbers) ** 2 for numbers in (a, b)]
    if sum(parts) == 0:
        return SeedError(0.0, len(a) + len(b) - 2)
    freedom = sum(parts) ** 2 / sum(part**2 / (len(numbers) - 1) for part, numbers in zip(parts, (a, b)))
    return SeedError(math.sqrt(sum(parts)), freedom)


def _minus(first: np.ndarray | None, second: np.ndarray | None) -> np.ndarray | None:
    if first is None or second is None or len(first) != len(second):
        return None
    gap: np.ndarray = first - second
    return gap


def _estimate(value: float, drawn: np.ndarray | None, error: SeedError | None, words: tuple[str, str, int]) -> Estimate:
    """words: the method without images, what the seeds are, and their number."""
    method, over, seeds = words
    if drawn is not None:
        # Some metrics, F1 among them, are lower on drawn images, of which some are copies: their mean is moved back.
        drawn = drawn - drawn.mean() + value
        images = interval_of(drawn)
        if error is None:
            return Estimate(value, *images, f"bootstrap: images, {over}", seeds, images)
        return Estimate(value, *two_level(drawn, error), f"two-level bootstrap: {over} and images", seeds, images)
    if error is None:
        return Estimate(value, math.nan, math.nan, f"{over}, no interval", seeds)
    margin = t_quantile(error.freedom) * error.size
    return Estimate(value, value - margin, value + margin, f"{method}: {over}", seeds)


def two_level(drawn: np.ndarray, error: SeedError) -> tuple[float, float]:
    """The interval over images and seeds. drawn: the mean over seeds on each bootstrapped test set [samples]."""
    noise = error.size * seed_noise(error.freedom, len(drawn))  # [ROUNDS, samples]
    return interval_of(drawn + noise)


@lru_cache(maxsize=64)
def seed_noise(freedom: float, samples: int) -> np.ndarray:
    """[ROUNDS, samples]: draws of Student's t, the same at every call. Each row holds all quantiles once, shuffled, so
    that their share of the interval is exact."""
    random = np.random.default_rng(0)
    values = t_sample(freedom, samples)
    return np.stack([random.permutation(values) for _ in range(ROUNDS)])
