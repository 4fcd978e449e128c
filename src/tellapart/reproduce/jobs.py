"""One run to train and measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tellapart.reproduce.cache import Cache
from tellapart.reproduce.table import Table
from tellapart.runs.recipe import Recipe


@dataclass(frozen=True)
class Job:
    """One run to train and measure."""

    label: str
    recipe: Recipe
    """With the row's overrides and seed, and shortened."""
    recipe_hash: str
    """Of the row's recipe before it is shortened: tables find results by it."""
    features: str | None
    key: str
    measures: tuple[str, ...]
    """Empty for a job that only trains first stages for other jobs."""
    share: float = 1.0
    steps: tuple[int, ...] = ()
    """Training steps of each stage."""
    stages: frozenset[str] = frozenset()
    """Stages that its model, and those of jobs that start from it, need. Other stages are not trained."""
    base: str | None = None
    """Key of the job that it starts from."""
    finished: frozenset[str] = frozenset()
    """Stages that the base, or an earlier call, has already trained."""
    needed_later: bool = False
    """Whether other jobs start from this one's run folder."""

    @property
    def trained(self) -> tuple[int, ...]:
        """Indices of the stages that this job trains."""
        names = self.stages - self.finished
        return tuple(index for index, stage in enumerate(self.recipe.stages) if stage.name in names)

    @property
    def size(self) -> float:
        """Rough duration: training steps, which count four times where an image has many feature rows."""
        return step_weight(self.recipe.features) * sum(self.steps[index] for index in self.trained)


def step_weight(features: str) -> float:
    """Rough duration of a step with features of this kind."""
    return {"vector": 1.0, "none": 1.0}.get(features, 4.0)


@dataclass(frozen=True)
class Plan:
    """The jobs of some tables."""

    jobs: tuple[Job, ...]
    skipped: dict[str, str]
    """Rows that cannot be run on this pack, by `table: row`, with the reason."""
    rows: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """(table, row) -> keys of its jobs, by seed. Rows that train the same share their jobs."""
    tables: tuple[Table, ...] = ()


def pending_jobs(planned: Plan, cache: Cache) -> list[Job]:
    """The jobs that have something left to train or to measure."""
    pending = []
    for job in planned.jobs:
        trained = cache.has_run(job.key) and not job.trained
        measured = cache.has(job.key, job.measures) if job.measures else trained
        if not measured or (job.needed_later and not trained):
            pending.append(job)
    return pending
