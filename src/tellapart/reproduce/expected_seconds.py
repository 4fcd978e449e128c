"""How long jobs are expected to take, from the results in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tellapart.reproduce.cache import Cache, Result
from tellapart.reproduce.jobs import Job, step_weight
from tellapart.training.log import read_log

UNKNOWN_RATE = 0.01
"""Seconds per step where no run has been timed: the order is right where steps take equally long, the times are not."""


@dataclass(frozen=True)
class TimedRun:
    """How long a run took."""

    recipe: str
    """Name of its recipe."""
    seconds: float
    steps: int
    """Of all its stages; 0 where it has no log."""
    rate: float
    """Seconds per step, weighted as in `Job.size`; 0 where the steps are not known."""


def timed_runs(cache: Cache, device: str, fingerprint: str, share: float) -> list[TimedRun]:
    """The cached runs on this kind of device, a GPU or not. Nothing tells how many steps a run without a log took: it
    counts only if it is of this pack and share."""
    found = []
    for result in cache.all_results:
        if (result.device == "cpu") == device.startswith("cuda"):
            continue
        run = _timed(result, cache)
        if run.steps or (result.fingerprint == fingerprint and abs(result.share - share) < 1e-9):
            found.append(run)
    return found


def _timed(result: Result, cache: Cache) -> TimedRun:
    log = read_log(cache.log_path(result.key))
    steps = int(log[-1]["total"]) if log else 0
    rate = result.seconds / (steps * step_weight(result.recipe["features"])) if steps else 0.0
    return TimedRun(result.recipe["name"], result.seconds, steps, rate)


def expected_seconds(job: Job, runs: Sequence[TimedRun]) -> float:
    """The median of the runs of the same recipe, scaled by steps; for a recipe without runs, and for first stages,
    which have no result, proportional to the size of the job."""
    if job.recipe.stages and not job.trained:
        return 0.0  # only measured
    same = [run for run in runs if run.recipe == job.recipe.name]
    if same and job.measures:
        steps = sum(count for stage, count in zip(job.recipe.stages, job.steps) if stage.name in job.stages)
        return median(run.seconds * (steps / run.steps if run.steps else 1.0) for run in same)
    # A run that started from another's first stages counts their steps but not their time: its rate is too low.
    return job.size * (max(_rate(same), _rate(runs)) or UNKNOWN_RATE)


def _rate(runs: Sequence[TimedRun]) -> float:
    rates = [run.rate for run in runs if run.rate]
    return median(rates) if rates else 0.0
