"""Cells of a table: the values of all seeds, their mean and its interval.

The interval of a cell with several seeds is a t interval over seeds, and says nothing of other test images. With one
seed it is a percentile bootstrap over images, and says nothing of other seeds. What decides claims takes both into
account: `comparisons.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tellapart.reproduce.quantiles import LEVEL, chi_square_quantile, t_quantile


@dataclass(frozen=True)
class Estimate:
    """A value and its 95% interval; the ends are NaN where there is none."""

    value: float
    low: float
    high: float
    how: str
    """The method and what the interval is over, in words."""
    seeds: int = 1
    """How many seeds it rests on; of two rows, the smaller number."""
    images: tuple[float, float] | None = None
    """The interval with the same images and no difference between seeds: more seeds cannot make it narrower. None where
    nothing is known of single images."""

    @property
    def margin(self) -> float | None:
        """Half the interval's width; None where there is no interval."""
        return None if math.isnan(self.low) else (self.high - self.low) / 2


@dataclass(frozen=True)
class Cell:
    """What is known of one row in one column."""

    values: Mapping[int, float]
    """By seed."""
    draws: Mapping[int, np.ndarray] = field(default_factory=dict)
    """By seed: the run's value on bootstrapped images [samples], the same images in every cell of a table."""

    def estimate(self) -> Estimate:
        """The mean over runs and its interval."""
        numbers = list(self.values.values())
        mean = sum(numbers) / len(numbers)
        if len(numbers) > 1:
            margin = t_quantile(len(numbers) - 1) * standard_error(numbers)
            return Estimate(mean, mean - margin, mean + margin, f"{len(numbers)} seeds", len(numbers))
        drawn = self.mean_draws(tuple(self.values))
        if drawn is not None:
            return Estimate(mean, *interval_of(drawn), "images")
        return Estimate(mean, math.nan, math.nan, "one run")

    def mean_draws(self, seeds: tuple[int, ...]) -> np.ndarray | None:
        """The mean over these seeds on each bootstrapped test set [samples]; None where a run has no draws, or draws of
        another size."""
        found = [self.draws[seed] for seed in seeds if seed in self.draws]
        together = len(found) == len(seeds) and len({len(drawn) for drawn in found}) == 1
        return np.mean(found, axis=0) if together else None


def mean_cell(cells: list[Cell]) -> Cell | None:
    """The mean over several rows, run by run; None where no seed is common to all."""
    seeds = sorted(set.intersection(*(set(cell.values) for cell in cells)))
    if not seeds:
        return None
    values = {seed: sum(cell.values[seed] for cell in cells) / len(cells) for seed in seeds}
    draws = {}
    for seed in seeds:
        drawn = [cell.draws[seed] for cell in cells if seed in cell.draws]
        if len(drawn) == len(cells) and len({len(one) for one in drawn}) == 1:
            draws[seed] = np.mean(drawn, axis=0)
    return Cell(values, draws)


def spread(cell: Cell) -> Estimate:
    """Standard deviation over seeds with its chi-squared interval."""
    numbers = list(cell.values.values())
    if len(numbers) < 2:
        return Estimate(math.nan, math.nan, math.nan, "one run")
    freedom, own = len(numbers) - 1, deviation(numbers)
    tail = (1 - LEVEL) / 2
    low = own * math.sqrt(freedom / chi_square_quantile(freedom, 1 - tail))
    high = own * math.sqrt(freedom / chi_square_quantile(freedom, tail))
    return Estimate(own, low, high, f"chi-squared: {len(numbers)} seeds", len(numbers))


def deviation(numbers: list[float]) -> float:
    """Standard deviation of a sample."""
    mean = sum(numbers) / len(numbers)
    return math.sqrt(sum((number - mean) ** 2 for number in numbers) / (len(numbers) - 1))


def standard_error(numbers: list[float]) -> float:
    """Standard deviation of the mean of a sample."""
    return deviation(numbers) / math.sqrt(len(numbers))


def interval_of(draws: np.ndarray) -> tuple[float, float]:
    """The percentile interval of bootstrapped values."""
    tail = 50 * (1 - LEVEL)
    low, high = np.percentile(draws, (tail, 100 - tail))
    return float(low), float(high)
