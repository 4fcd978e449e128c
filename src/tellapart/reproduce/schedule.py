"""The pending jobs of a plan in the order in which they start, with what each is expected to take and to decide."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart.data.pack import Pack
from tellapart.reproduce.claim_order import ScheduledJob, claim_order, longest_first, open_claims, scheduled
from tellapart.reproduce.claims import UNDECIDED
from tellapart.reproduce.expected_seconds import expected_seconds, timed_runs
from tellapart.reproduce.fill import data_for, fill
from tellapart.reproduce.jobs import Plan, pending_jobs
from tellapart.reproduce.settings import ReproduceSettings


@dataclass(frozen=True)
class Schedule:
    """The pending jobs in their order, and how many claims there are."""

    jobs: tuple[ScheduledJob, ...]
    claims: int
    """Of the tables."""
    decided: int
    """Of these, decided by what the cache holds."""
    open: int
    """Of these, undecided and waiting for pending jobs. The others wait for more seeds, or for rows that cannot be
    run."""
    timed: bool
    """Whether the expected times rest on runs in the cache."""


def schedule(planned: Plan, settings: ReproduceSettings) -> Schedule:
    """The pending jobs in the order of the settings. A worker passes over jobs that wait for a base or do not end in
    time."""
    cache, pack = settings.open_cache(), Pack(settings.data)
    pending = {job.key: job for job in pending_jobs(planned, cache)}
    runs = timed_runs(cache, settings.devices[0], pack.fingerprint, settings.share)
    seconds = {key: expected_seconds(job, runs) for key, job in pending.items()}
    tables = [fill(table, cache, data_for(table, pack, settings), settings.seeds) for table in planned.tables]
    claims = [claim for filled in tables for claim in open_claims(filled, planned, pending)]
    by_claims = settings.order == "claims"
    order = claim_order(claims, pending, seconds) if by_claims else longest_first(pending, seconds)
    verdicts = [checked.verdict for filled in tables for checked in filled.claims]
    return Schedule(
        tuple(scheduled(order, claims, pending, seconds)),
        claims=len(verdicts),
        decided=len(verdicts) - verdicts.count(UNDECIDED),
        open=len(claims),
        timed=bool(runs),
    )
