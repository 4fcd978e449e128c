"""From tables to jobs: every row with every seed, each distinct run once, first stages that are shared trained once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cache as cache_calls
from functools import partial

from tellapart.core.errors import InputError
from tellapart.data.feature_choice import choose_features
from tellapart.data.feature_store import FeatureStore, mirror_of
from tellapart.data.pack import Pack
from tellapart.data.sampling import captioned, steps_per_epoch
from tellapart.reproduce.cache import Cache, job_key, recipe_hash
from tellapart.reproduce.later_measures import LATER
from tellapart.reproduce.measured import SPLIT
from tellapart.reproduce.table import Row, Table
from tellapart.runs.recipe import Recipe, Stage
from tellapart.runs.overrides import override
from tellapart.training.needed_stages import finished_stages, rests_on

FIRST_STAGES = "first stages of "


@dataclass(frozen=True)
class Job:
    """One run to train and measure."""

    label: str
    recipe: Recipe
    """With the row's overrides, the seed and the shortening in it."""
    recipe_hash: str
    """Of the row's recipe before any shortening: what a table looks results up by."""
    features: str | None
    key: str
    measures: tuple[str, ...]
    """Empty for a job that only trains first stages others begin with."""
    share: float = 1.0
    steps: tuple[int, ...] = ()
    """Of each stage."""
    stages: frozenset[str] = frozenset()
    """What its model, and those of jobs that begin with it, rest on. The recipe's other stages are left out."""
    base: str | None = None
    """Key of the job that it begins with."""
    there: frozenset[str] = frozenset()
    """Stages that need not be trained: the base has them, or the run itself from an earlier call."""
    needed_later: bool = False
    """Other jobs begin with this one's run folder."""

    @property
    def trained(self) -> tuple[int, ...]:
        """Indices of the stages it trains itself."""
        wanted = self.stages - self.there
        return tuple(index for index, stage in enumerate(self.recipe.stages) if stage.name in wanted)

    @property
    def size(self) -> float:
        """How long it is, roughly: steps it trains itself, where looking at many feature rows counts four times one
        vector."""
        weight = {"vector": 1.0, "none": 1.0}.get(self.recipe.features, 4.0)
        return weight * sum(self.steps[index] for index in self.trained)


@dataclass(frozen=True)
class Plan:
    jobs: tuple[Job, ...]
    skipped: dict[str, str]
    """Rows that cannot be run on this pack, by `table: row`, and why."""


def pending_jobs(planned: Plan, cache: Cache) -> list[Job]:
    """Those that have something left to train or to measure."""
    pending = []
    for job in planned.jobs:
        there = cache.has_run(job.key) and not job.trained
        measured = cache.has(job.key, job.measures) if job.measures else there
        if not measured or (job.needed_later and not there):
            pending.append(job)
    return pending


def row_recipe(row: Row, seed: int, share: float, pack: Pack | None) -> Recipe:
    """The recipe a row trains. `pack` is needed only where the shortening goes below one epoch."""
    return shortened(override(row.recipe, (*row.overrides, f"seed={seed}")), share, pack)


def row_hash(row: Row) -> str:
    """Of the recipe a row trains, whatever the seed and however much shortened."""
    return recipe_hash(row_recipe(row, 0, 1.0, None))


def shortened(recipe: Recipe, share: float, pack: Pack | None) -> Recipe:
    """All stages cut to the same share of their epochs, schedules with them; below one epoch, to that share of it."""
    if share >= 1:
        return recipe
    return replace(recipe, stages=tuple(_shorter(stage, share, pack) for stage in recipe.stages))


def _shorter(stage: Stage, share: float, pack: Pack | None) -> Stage:
    sampling, wanted = stage.sampling, stage.epochs * share
    if wanted < 1 and pack is not None:
        sampling = replace(sampling, steps=max(1, round(wanted * steps_per_epoch(pack, sampling))))
    schedule = replace(
        stage.schedule,
        every=max(1, round(stage.schedule.every * share)),
        at=tuple(max(1, round(epoch * share)) for epoch in stage.schedule.at),
        warmup_steps=round(stage.schedule.warmup_steps * share),
    )
    return replace(stage, epochs=max(1, round(wanted)), sampling=sampling, schedule=schedule)


def features_for(pack: Pack, recipe: Recipe, candidates: Sequence[str]) -> str | None:
    """Name of the features that the recipe reads; None if it reads none."""
    store = choose_features(pack, recipe.features, candidates=candidates)
    return None if store is None else store.name


def run_measures(table: Table) -> tuple[str, ...]:
    """What must be measured while a row's model is at hand."""
    asked = (column.measure for column in table.columns)
    return tuple(dict.fromkeys(LATER[name].source if name in LATER else name for name in asked))


def plan(
    tables: Sequence[Table], pack: Pack, features: Sequence[str], seeds: int | None, share: float, cache: Cache
) -> Plan:
    """All jobs the tables need, cached ones among them. A pack that nothing could be measured on is refused."""
    captioned(pack, SPLIT)
    jobs: dict[str, Job] = {}
    skipped: dict[str, str] = {}
    steps_of = cache_calls(partial(steps_per_epoch, pack))
    for table in tables:
        measures = run_measures(table)
        for row in table.rows:
            for seed in range(seeds or table.seeds):
                try:
                    recipe = row_recipe(row, seed, share, pack)
                    name = features_for(pack, recipe, features)
                    _need_columns(pack, recipe)
                    _need_mirrors(pack, recipe, name)
                    steps = tuple(stage.epochs * steps_of(stage.sampling) for stage in recipe.stages)
                except InputError as error:
                    skipped[f"{table.name}: {row.name}"] = str(error)
                    break
                key = job_key(recipe, pack.fingerprint, name)
                held = jobs[key].measures if key in jobs else ()
                label = jobs[key].label if key in jobs else f"{table.name}: {row.name}, seed {seed}"
                union = tuple(dict.fromkeys((*held, *measures)))
                jobs[key] = Job(label, recipe, row_hash(row), name, key, union, share, steps=steps)
    return Plan(tuple(_with_bases(jobs, pack, cache).values()), skipped)


def _need_columns(pack: Pack, recipe: Recipe) -> None:
    for stage in recipe.stages:
        for name in stage.sampling.columns:
            if not pack.has_column(name):
                raise InputError(f"{pack.folder} has no column '{name}'; compute it with `tellapart annotate`")


def _need_mirrors(pack: Pack, recipe: Recipe, features: str | None) -> None:
    if features is not None and any(stage.sampling.flip for stage in recipe.stages):
        mirror_of(FeatureStore(pack.feature_folder(features)))


def _with_bases(jobs: dict[str, Job], pack: Pack, cache: Cache) -> dict[str, Job]:
    """Let unfinished jobs begin with the longest run of first stages that is a job itself or that several share. Such
    first stages are jobs too, and may have first stages in common themselves.

    What a job must train depends on the jobs that begin with it, and what it may begin with on what it must train: so
    this is gone through again until nothing more is asked for.
    """
    result = {key: replace(job, stages=rests_on(job.recipe)) for key, job in jobs.items()}
    while True:
        before, result = result, _with_more_asked(_assigned(result, pack, cache))
        if all(key in before and before[key].stages == job.stages for key, job in result.items()):
            return {key: replace(job, there=_there(job, result, cache)) for key, job in result.items()}


def _assigned(jobs: dict[str, Job], pack: Pack, cache: Cache) -> dict[str, Job]:
    """All jobs, with first stages that become jobs of their own, and what each begins with."""
    result = {key: replace(job, base=None, needed_later=False) for key, job in jobs.items() if job.measures}
    pending = [job for job in result.values() if not cache.has(job.key, job.measures) and not cache.has_run(job.key)]
    waiting = {job.key for job in pending}
    while pending:
        found = _bases(pending, waiting, jobs, pack, cache)
        for key, part in found.items():
            result[key] = replace(result[key], base=part.key)
            result[part.key] = replace(result.get(part.key, part), needed_later=True)
        made = {part.key: part for part in found.values() if part.key not in waiting and not cache.has_run(part.key)}
        waiting |= set(made)
        pending = list(made.values())
    return result


def _with_more_asked(jobs: dict[str, Job]) -> dict[str, Job]:
    """Jobs that others begin with are asked for what those rest on."""
    asked = {key: set(job.stages) for key, job in jobs.items()}
    for job in jobs.values():
        if job.base is not None:
            asked[job.base] |= _first(jobs[job.base]) & job.stages
    return {key: replace(job, stages=frozenset(asked[key])) for key, job in jobs.items()}


def _there(job: Job, jobs: dict[str, Job], cache: Cache) -> frozenset[str]:
    own = finished_stages(job.recipe, cache.run_folder(job.key))
    return own if job.base is None or cache.has_run(job.key) else own | _first(jobs[job.base])


def _first(base: Job) -> frozenset[str]:
    return frozenset(stage.name for stage in base.recipe.stages)


def _bases(
    pending: Sequence[Job], waiting: Set[str], known: dict[str, Job], pack: Pack, cache: Cache
) -> dict[str, Job]:
    """What each of these jobs begins with, by its key: the longest that is at hand or that several want, if any."""
    chosen: dict[str, Job] = {}
    longer: dict[str, list[Job]] = {}
    for job in pending:
        parts = _beginnings(job, known, pack)
        at_hand = [part for part in parts if part.key in waiting or cache.has_run(part.key)]
        if at_hand:
            chosen[job.key] = at_hand[0]
        longer[job.key] = parts[: parts.index(at_hand[0])] if at_hand else parts
    counts = Counter(part.key for parts in longer.values() for part in parts)
    for key, parts in longer.items():
        shared = [part for part in parts if counts[part.key] > 1]
        if shared:
            chosen[key] = shared[0]
    return chosen


def _beginnings(job: Job, known: dict[str, Job], pack: Pack) -> list[Job]:
    """Jobs of this one's first stages that end with one it rests on, longest first."""
    parts = []
    for count in range(len(job.recipe.stages) - 1, 0, -1):
        if job.recipe.stages[count - 1].name not in job.stages:
            continue
        recipe = replace(job.recipe, stages=job.recipe.stages[:count])
        key = job_key(recipe, pack.fingerprint, job.features)
        label = FIRST_STAGES + job.label.removeprefix(FIRST_STAGES)
        asked = known[key].stages if key in known else rests_on(recipe)
        parts.append(Job(label, recipe, "", job.features, key, (), job.share, job.steps[:count], asked))
    return parts
