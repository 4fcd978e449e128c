"""The order of jobs that decides most claims for the time: the claim that lacks least comes first.

This is greedy. The claim whose pending jobs are expected to take the least time is taken first. Its jobs then cost the
other claims nothing, and the next claim is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from tellapart.reproduce.claims import ENOUGH_SEEDS, SPANS, UNDECIDED, CheckedClaim
from tellapart.reproduce.fill import Filled
from tellapart.reproduce.jobs import Job, Plan
from tellapart.reproduce.table import rows_of

Jobs = Mapping[str, Job]
"""By key."""
Seconds = Mapping[str, float]
"""Expected seconds, by key of the job."""


@dataclass(frozen=True)
class OpenClaim:
    """A claim that pending jobs may decide."""

    table: str
    text: str
    jobs: tuple[str, ...]
    """Keys of the pending jobs that it waits for, in the order to run them."""


@dataclass(frozen=True)
class ScheduledJob:
    """A job at its place in an order."""

    job: Job
    seconds: float
    """That it is expected to take."""
    claims: int
    """How many of the open claims have all their runs when it ends."""


def open_claims(filled: Filled, planned: Plan, pending: Jobs) -> list[OpenClaim]:
    """The claims of a table that pending jobs may decide. Claims about rows that cannot be run are not among them."""
    found = []
    for checked in filled.claims:
        keys = _keys_of_rows(checked, filled, planned)
        jobs = _seed_by_seed(list(keys.values()), pending)
        possible = all(own or row in filled.results for row, own in keys.items())
        if jobs and possible and more_runs_may_decide(checked):
            found.append(OpenClaim(filled.table.name, checked.claim.text, jobs))
    return found


def more_runs_may_decide(checked: CheckedClaim) -> bool:
    """Whether a claim is undecided for lack of runs. An interval that spans the bound still shrinks with more seeds,
    up to ENOUGH_SEEDS of them."""
    if checked.reason != SPANS:
        return checked.verdict == UNDECIDED
    estimates = [check.estimate for check in checked.checks if check.verdict == UNDECIDED]
    return min(estimate.seeds for estimate in estimates if estimate is not None) < ENOUGH_SEEDS


def _keys_of_rows(checked: CheckedClaim, filled: Filled, planned: Plan) -> dict[str, tuple[str, ...]]:
    """Keys of the planned jobs of each row in the undecided checks, by seed; rows in the order of the table."""
    undecided = tuple(
        check for check, result in zip(checked.claim.checks, checked.checks) if result.verdict == UNDECIDED
    )
    rows = rows_of(replace(checked.claim, checks=undecided))
    table = filled.table
    return {row.name: planned.rows.get((table.name, row.name), ()) for row in table.rows if row.name in rows}


def _seed_by_seed(rows: Sequence[tuple[str, ...]], pending: Jobs) -> tuple[str, ...]:
    """The pending jobs of these rows and their bases: a seed of all rows before the next, so that an interrupted batch
    has runs that can be paired."""
    by_seed = (key for keys in zip_longest(*rows) for key in keys if key is not None)
    return tuple(dict.fromkeys(step for key in by_seed for step in _with_bases(key, pending)))


def _with_bases(key: str, pending: Jobs) -> Iterator[str]:
    """A pending job after the pending jobs that it starts from; nothing for a job that is not pending."""
    if key in pending:
        base = pending[key].base
        if base is not None:
            yield from _with_bases(base, pending)
        yield key


def claim_order(claims: Sequence[OpenClaim], pending: Jobs, seconds: Seconds) -> list[str]:
    """Keys of the pending jobs, those of the claim with the least remaining cost first; jobs that no claim needs last,
    longest first."""
    order: dict[str, None] = {}
    waiting = list(claims)
    while waiting:
        costs = [sum(seconds[key] for key in claim.jobs if key not in order) for claim in waiting]
        nearest = waiting.pop(costs.index(min(costs)))
        order |= dict.fromkeys(nearest.jobs)
    return list(order | dict.fromkeys(longest_first(pending, seconds)))


def longest_first(pending: Jobs, seconds: Seconds) -> list[str]:
    """Keys of the pending jobs, longest first; jobs that others wait for before all others."""
    keys = sorted(pending, key=lambda key: (pending[key].needed_later, seconds[key]), reverse=True)
    return list(dict.fromkeys(step for key in keys for step in _with_bases(key, pending)))


def scheduled(order: Sequence[str], claims: Sequence[OpenClaim], pending: Jobs, seconds: Seconds) -> list[ScheduledJob]:
    """The jobs in this order, each with the number of claims that have all their runs when it ends."""
    done: set[str] = set()
    found = []
    for key in order:
        done.add(key)
        complete = sum(done.issuperset(claim.jobs) for claim in claims)
        found.append(ScheduledJob(pending[key], seconds[key], complete))
    return found
