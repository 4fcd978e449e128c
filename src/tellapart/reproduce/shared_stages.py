"""First stages that several jobs share, trained once as jobs of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace

from tellapart.data.pack import Pack
from tellapart.reproduce.cache import Cache, job_key
from tellapart.reproduce.jobs import Job
from tellapart.training.stage_dependencies import finished_stages, needed_stages

FIRST_STAGES = "first stages of "


def with_shared_stages(jobs: dict[str, Job], pack: Pack, cache: Cache) -> dict[str, Job]:
    """The jobs, and further jobs for first stages that several of them share.

    An unfinished job starts from the longest run of its first stages that is a job itself or that several jobs share.
    Jobs of first stages may share first stages themselves. What a job must train depends on the jobs that start from
    it, and what it can start from depends on what it must train: this is repeated until nothing changes.
    """
    result = {key: replace(job, stages=needed_stages(job.recipe)) for key, job in jobs.items()}
    while True:
        before, result = result, _with_stages_of_others(_assigned(result, pack, cache))
        if all(key in before and before[key].stages == job.stages for key, job in result.items()):
            return {key: replace(job, finished=_finished(job, result, cache)) for key, job in result.items()}


def _assigned(jobs: dict[str, Job], pack: Pack, cache: Cache) -> dict[str, Job]:
    """All jobs with their base, including new jobs for first stages."""
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


def _with_stages_of_others(jobs: dict[str, Job]) -> dict[str, Job]:
    """Bases also train the first stages that the jobs which start from them need."""
    stages = {key: set(job.stages) for key, job in jobs.items()}
    for job in jobs.values():
        if job.base is not None:
            stages[job.base] |= _stage_names(jobs[job.base]) & job.stages
    return {key: replace(job, stages=frozenset(stages[key])) for key, job in jobs.items()}


def _finished(job: Job, jobs: dict[str, Job], cache: Cache) -> frozenset[str]:
    own = finished_stages(job.recipe, cache.run_folder(job.key))
    return own if job.base is None or cache.has_run(job.key) else own | _stage_names(jobs[job.base])


def _stage_names(base: Job) -> frozenset[str]:
    return frozenset(stage.name for stage in base.recipe.stages)


def _bases(
    pending: Sequence[Job], waiting: Set[str], known: dict[str, Job], pack: Pack, cache: Cache
) -> dict[str, Job]:
    """The base of each of these jobs, by key: the longest that is available or that several need, if any."""
    chosen: dict[str, Job] = {}
    longer: dict[str, list[Job]] = {}
    for job in pending:
        parts = _first_stage_jobs(job, known, pack)
        available = [part for part in parts if part.key in waiting or cache.has_run(part.key)]
        if available:
            chosen[job.key] = available[0]
        longer[job.key] = parts[: parts.index(available[0])] if available else parts
    counts = Counter(part.key for parts in longer.values() for part in parts)
    for key, parts in longer.items():
        shared = [part for part in parts if counts[part.key] > 1]
        if shared:
            chosen[key] = shared[0]
    return chosen


def _first_stage_jobs(job: Job, known: dict[str, Job], pack: Pack) -> list[Job]:
    """Jobs of this job's first stages that end with a stage it needs, longest first."""
    parts = []
    for count in range(len(job.recipe.stages) - 1, 0, -1):
        if job.recipe.stages[count - 1].name not in job.stages:
            continue
        recipe = replace(job.recipe, stages=job.recipe.stages[:count])
        key = job_key(recipe, pack.fingerprint, job.features)
        label = FIRST_STAGES + job.label.removeprefix(FIRST_STAGES)
        stages = known[key].stages if key in known else needed_stages(recipe)
        part = Job(label, recipe, "", job.features, key, measures=())
        parts.append(replace(part, share=job.share, steps=job.steps[:count], stages=stages))
    return parts
