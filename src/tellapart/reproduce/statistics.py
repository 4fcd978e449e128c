"""Intervals of cells and of differences between them.

Several runs of a row (seeds): the mean with a t interval; two rows are compared by Welch's t interval. One run: a
percentile bootstrap over images, each drawn with its captions; two rows are compared on the same draws.
Intervals over seeds say nothing of other test images, intervals over images nothing of other seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from tellapart.metrics.retrieval.bootstrap import SAMPLES, image_weights, resampled
from tellapart.metrics.retrieval.recall import Ranks
from tellapart.reproduce.measures import RANKS

LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A value and its 95% interval; the ends are NaN where there is none."""

    value: float
    low: float
    high: float
    how: str
    """What the interval is over: `N seeds`, `images`, or nothing (`one run`)."""

    @property
    def margin(self) -> float | None:
        """Half the interval's width; None where there is no interval."""
        return None if math.isnan(self.low) else (self.high - self.low) / 2


@dataclass(frozen=True)
class Cell:
    """What is known of one row in one column."""

    values: Mapping[int, float]
    """By seed."""
    draws: np.ndarray | None = None  # [samples]
    """The first run's value on bootstrapped images; the same images in every cell of a table."""

    def estimate(self) -> Estimate:
        """The mean over runs and its interval."""
        numbers = list(self.values.values())
        mean = sum(numbers) / len(numbers)
        if len(numbers) > 1:
            margin = t_quantile(len(numbers) - 1) * deviation(numbers) / math.sqrt(len(numbers))
            return Estimate(mean, mean - margin, mean + margin, f"{len(numbers)} seeds")
        if self.draws is not None:
            return Estimate(mean, *_ends(self.draws), "images")
        return Estimate(mean, math.nan, math.nan, "one run")


def mean_cell(cells: list[Cell]) -> Cell | None:
    """The mean over several rows, run by run; None where no seed is common to all."""
    seeds = sorted(set.intersection(*(set(cell.values) for cell in cells)))
    if not seeds:
        return None
    values = {seed: sum(cell.values[seed] for cell in cells) / len(cells) for seed in seeds}
    draws = [cell.draws for cell in cells if cell.draws is not None]
    together = len(draws) == len(cells) and len({len(drawn) for drawn in draws}) == 1
    return Cell(values, np.mean(draws, axis=0) if together else None)


def difference(first: Cell, second: Cell) -> Estimate:
    """First minus second, with its interval."""
    a, b = list(first.values.values()), list(second.values.values())
    gap = sum(a) / len(a) - sum(b) / len(b)
    if len(a) > 1 and len(b) > 1:
        parts = [deviation(numbers) ** 2 / len(numbers) for numbers in (a, b)]
        spread = math.sqrt(sum(parts))
        if spread == 0:
            return Estimate(gap, gap, gap, f"{len(a)} and {len(b)} seeds")
        freedom = sum(parts) ** 2 / sum(p**2 / (len(n) - 1) for p, n in zip(parts, (a, b)))  # Welch, Satterthwaite
        margin = t_quantile(freedom) * spread
        return Estimate(gap, gap - margin, gap + margin, f"{len(a)} and {len(b)} seeds")
    if first.draws is not None and second.draws is not None and len(first.draws) == len(second.draws):
        # The draws are of each row's first run, so the value must be too.
        gap = first.values[min(first.values)] - second.values[min(second.values)]
        basis = "the same images" if len(a) == len(b) == 1 else "the same images, the first run of each"
        return Estimate(gap, *_ends(first.draws - second.draws), basis)
    return Estimate(gap, math.nan, math.nan, "one run")


def spread(cell: Cell) -> Estimate:
    """Standard deviation over seeds with its chi-squared interval."""
    numbers = list(cell.values.values())
    if len(numbers) < 2:
        return Estimate(math.nan, math.nan, math.nan, "one run")
    freedom, own = len(numbers) - 1, deviation(numbers)
    tail = (1 - LEVEL) / 2
    low = own * math.sqrt(freedom / chi_square_quantile(freedom, 1 - tail))
    high = own * math.sqrt(freedom / chi_square_quantile(freedom, tail))
    return Estimate(own, low, high, f"{len(numbers)} seeds")


def bootstrap_draws(metric: str, items: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """A metric on SAMPLES bootstrapped test sets [samples]: as stored, from ranks, or from one value per image."""
    if f"drawn_{metric}" in items:
        return items[f"drawn_{metric}"].astype(np.float64)
    if all(name in items for name in RANKS):
        ranks = Ranks(*(torch.from_numpy(items[name].astype(np.int64)) for name in RANKS))
        drawn = resampled(ranks, image_weights(len(items[RANKS[0]]), SAMPLES, 0))
        if metric in drawn:
            return drawn[metric]
    if metric in items:
        return image_weights(len(items[metric]), SAMPLES, 0) @ items[metric].astype(np.float64)
    return None


def deviation(numbers: list[float]) -> float:
    """Standard deviation of a sample."""
    mean = sum(numbers) / len(numbers)
    return math.sqrt(sum((number - mean) ** 2 for number in numbers) / (len(numbers) - 1))


def t_quantile(freedom: float, level: float = LEVEL) -> float:
    """The t with `level` of Student's distribution between -t and t.

    With T = sqrt(n) tan(u), u has the density cos(u)^(n - 1) up to a factor, on a finite interval: it is integrated
    there.

    >>> round(t_quantile(2), 3), round(t_quantile(4), 3)
    (4.303, 2.776)
    """
    angles = np.linspace(0, math.pi / 2, 20001)
    heights = np.cos(angles) ** (freedom - 1) if freedom != 1 else np.ones_like(angles)
    heights[-1] = heights[-1] if freedom >= 1 else heights[-2]
    area = np.concatenate([[0.0], np.cumsum((heights[1:] + heights[:-1]) / 2)])
    return math.sqrt(freedom) * math.tan(float(np.interp(level, area / area[-1], angles)))


def chi_square_quantile(freedom: int, probability: float) -> float:
    """Quantile of the chi-squared distribution, by bisection of the regularised incomplete gamma function.

    >>> round(chi_square_quantile(4, 0.975), 3)
    11.143
    """
    low, high = 0.0, 1000.0
    half = torch.tensor(freedom / 2, dtype=torch.float64)
    for _ in range(80):
        middle = (low + high) / 2
        below = torch.special.gammainc(half, torch.tensor(middle / 2, dtype=torch.float64)).item() < probability
        low, high = (middle, high) if below else (low, middle)
    return (low + high) / 2


def _ends(draws: np.ndarray) -> tuple[float, float]:
    tail = 50 * (1 - LEVEL)
    low, high = np.percentile(draws, (tail, 100 - tail))
    return float(low), float(high)
