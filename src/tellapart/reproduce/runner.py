"""The runs of tables on one machine: longest or most claims first, none started that would not end in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tellapart.core.errors import InputError
from tellapart.reproduce.jobs import Job, Plan, pending_jobs
from tellapart.reproduce.messages import Report, silent
from tellapart.reproduce.plan import plan
from tellapart.reproduce.run_job import run_job
from tellapart.reproduce.schedule import schedule
from tellapart.reproduce.settings import ReproduceSettings
from tellapart.reproduce.table import Table
from tellapart.reproduce.workers import LONGEST_FIRST, Clock, Outcome, WorkerPool, next_job


def run_tables(tables: Sequence[Table], settings: ReproduceSettings, report: Report = silent) -> Outcome:
    """Train and measure what the tables need and the cache does not have. Needs torch, numpy and safetensors only."""
    planned = plan(tables, settings)
    report_skipped(planned, report)
    return run_plan(planned, settings, report)


def report_skipped(planned: Plan, report: Report) -> None:
    """Report the rows that cannot be run."""
    for row, reason in planned.skipped.items():
        report(f"skipped: {row}: {reason}")


def run_plan(planned: Plan, settings: ReproduceSettings, report: Report = silent) -> Outcome:
    """Train and measure the jobs of a plan that the cache does not have."""
    outcome, cache = Outcome(), settings.open_cache()
    pending = {job.key: job for job in pending_jobs(planned, cache)}
    outcome.cached.extend(job.label for job in planned.jobs if job.measures and job.key not in pending)
    report(
        f"{len(pending)} runs to make, {len(outcome.cached)} in the cache, {settings.jobs} at once on {settings.device}"
    )
    if settings.keep:
        for job in planned.jobs:
            cache.keep_run(job.key)  # an earlier call that ran out of time may have marked it as temporary
    places = LONGEST_FIRST
    if settings.order == "claims":
        places = {one.job.key: place for place, one in enumerate(schedule(planned, settings).jobs)}
    clock = Clock(settings.seconds_limit)
    if settings.jobs == 1 and settings.seconds_limit is None:
        _run_one_by_one(pending, settings, clock, outcome, report, places=places)
    else:
        # Also a single run that must end in time: only another process can be stopped.
        WorkerPool(pending, settings, clock, outcome, report, places=places).run()
    if not settings.keep and not outcome.left:
        for job in planned.jobs:
            cache.drop_run(job.key)
    return outcome


def _run_one_by_one(
    pending: dict[str, Job],
    settings: ReproduceSettings,
    clock: Clock,
    outcome: Outcome,
    report: Report,
    places: Mapping[str, int],
) -> None:
    while job := next_job(pending, set(), clock, places):
        pending.pop(job.key)
        try:
            seconds = run_job(job, settings, settings.devices[0])
        except InputError as error:
            outcome.failed[job.label] = str(error)
            report(f"failed: {job.label}: {error}")
            continue
        clock.record(job, seconds)
        outcome.done.append(job.label)
        report(f"done in {seconds:.0f} s: {job.label} ({len(pending)} to go)")
    outcome.left.extend(job.label for job in pending.values())
