"""Many jobs on one machine: several processes, longest first, none started that would not end in time."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.reproduce.cache import Cache
from tellapart.reproduce.jobs import Job, Plan, pending_jobs, plan
from tellapart.reproduce.table import Table
from tellapart.reproduce.work import Bench, do_job

ENDING = 10.0
"""Seconds that a worker has to end by itself."""


@dataclass
class Outcome:
    """What became of the jobs."""

    done: list[str] = field(default_factory=list)
    cached: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """By label: why."""
    left: list[str] = field(default_factory=list)
    """Not started, or stopped, for want of time; the same call goes on with them."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run_rows(
    tables: Sequence[Table],
    pack: Path,
    features: Sequence[str] = (),
    seeds: int | None = None,
    device: str = "cpu",
    jobs: int = 1,
    cache: Path = Path("cache"),
    seconds_limit: float | None = None,
    scratch: Path | None = None,
    share: float = 1.0,
    resident: bool = False,
    keep: bool = False,
    replay: bool = False,
    tell: Callable[[str], None] = say,
) -> Outcome:
    """Train and measure what the tables need and the cache has not; needs torch, numpy and safetensors only.

    device: one, or several joined by commas, dealt out to the worker processes in turn.
    seconds_limit: no job is started that is not expected to end in time, and what still runs then is stopped.
    """
    bench = Bench(Path(pack), Path(cache), scratch, resident, replay, keep)
    planned = plan(tables, Pack(pack), features, seeds, share, bench.open_cache())
    for row, reason in planned.skipped.items():
        tell(f"left out: {row}: {reason}")
    return run_plan(planned, bench, device, jobs, seconds_limit, tell)


def run_plan(
    planned: Plan,
    bench: Bench,
    device: str = "cpu",
    jobs: int = 1,
    seconds_limit: float | None = None,
    tell: Callable[[str], None] = say,
) -> Outcome:
    outcome, cache = Outcome(), bench.open_cache()
    pending = {job.key: job for job in pending_jobs(planned, cache)}
    outcome.cached.extend(job.label for job in planned.jobs if job.measures and job.key not in pending)
    tell(f"{len(pending)} runs to make, {len(outcome.cached)} in the cache, {jobs} at a time on {device}")
    if bench.keep:
        for job in planned.jobs:
            cache.keep_run(job.key)  # an earlier call that ran out of time may have left it as one to go
    clock = _Clock(cache, seconds_limit)
    if jobs == 1:
        _one_by_one(pending, bench, device.split(",")[0], clock, outcome, tell)
    else:
        _Crew(pending, bench, device.split(","), jobs, clock, outcome, tell).work()
    if not bench.keep and not outcome.left:
        for job in planned.jobs:
            cache.drop_run(job.key)
    return outcome


class _Clock:
    """Knows how long jobs take, from those in the cache and those just done, and when time is up."""

    def __init__(self, cache: Cache, limit: float | None) -> None:
        self.started, self.limit = time.monotonic(), limit
        self.spent: dict[str, tuple[float, float]] = {}
        """Seconds and sizes of the jobs done, added up by recipe name."""

    def left(self) -> float:
        return float("inf") if self.limit is None else self.limit - (time.monotonic() - self.started)

    def learn(self, job: Job, seconds: float) -> None:
        if not job.size:
            return  # only measured
        before, size = self.spent.get(job.recipe.name, (0.0, 0.0))
        self.spent[job.recipe.name] = before + seconds, size + job.size

    def expected(self, job: Job) -> float:
        rates = {name: seconds / size for name, (seconds, size) in self.spent.items() if size}
        return rates.get(job.recipe.name, max(rates.values(), default=0.0)) * job.size

    def allows(self, job: Job) -> bool:
        return self.left() > max(self.expected(job) * 1.1, 5.0)


def next_job(pending: dict[str, Job], running: set[str], clock: _Clock) -> Job | None:
    """The longest job whose beginning is there and that is expected to end in time; jobs others wait for come first."""
    unfinished = set(pending) | running
    ready = [job for job in pending.values() if job.base not in unfinished and clock.allows(job)]
    return max(ready, key=lambda job: (job.needed_later, clock.expected(job), job.size), default=None)


def _one_by_one(
    pending: dict[str, Job], bench: Bench, device: str, clock: _Clock, outcome: Outcome, tell: Callable[[str], None]
) -> None:
    while job := next_job(pending, set(), clock):
        pending.pop(job.key)
        try:
            seconds = do_job(job, bench, device)
        except InputError as error:
            outcome.failed[job.label] = str(error)
            tell(f"failed: {job.label}: {error}")
            continue
        clock.learn(job, seconds)
        outcome.done.append(job.label)
        tell(f"done in {seconds:.0f} s: {job.label} ({len(pending)} to go)")
    outcome.left.extend(job.label for job in pending.values())


class _Crew:
    """Worker processes that each do one job after another; a worker that dies takes only its own job with it.

    One whose job broke is replaced: after some errors (a CUDA kernel that read where it may not) every later job in the
    same process would fail too.
    """

    def __init__(
        self,
        pending: dict[str, Job],
        bench: Bench,
        devices: list[str],
        size: int,
        clock: _Clock,
        outcome: Outcome,
        tell: Callable[[str], None],
    ) -> None:
        self.pending, self.bench, self.devices, self.size = pending, bench, devices, size
        self.clock, self.outcome, self.tell = clock, outcome, tell
        # A forked process cannot use CUDA: start each afresh.
        self.context = multiprocessing.get_context("spawn")
        self.doing: dict[Connection, Job] = {}
        self.processes: dict[Connection, multiprocessing.process.BaseProcess] = {}
        self.idle: list[Connection] = []
        self.seats: dict[Connection, int] = {}
        """Which worker each is, from 0: one that replaces another sits at the same device."""

    def work(self) -> None:
        try:
            while True:
                self._hand_out()
                if not self.doing:
                    break
                ready = multiprocessing.connection.wait(list(self.doing), timeout=min(self.clock.left(), 1e6))
                if not ready:
                    break
                for connection in ready:
                    self._take_back(connection)  # type: ignore[arg-type]
        finally:
            self.outcome.left.extend(job.label for job in (*self.pending.values(), *self.doing.values()))
            for process in self.processes.values():
                process.terminate()
            for process in self.processes.values():
                process.join()

    def _hand_out(self) -> None:
        while self.idle or len(self.processes) < self.size:
            job = next_job(self.pending, {job.key for job in self.doing.values()}, self.clock)
            if job is None:
                return
            connection = self.idle.pop() if self.idle else self._hire()
            self.pending.pop(job.key)
            self.doing[connection] = job
            connection.send(job)

    def _hire(self) -> Connection:
        ours, theirs = self.context.Pipe()
        seat = min(set(range(self.size)) - set(self.seats.values()))
        device = self.devices[seat % len(self.devices)]
        # A GPU's process needs one thread to feed it; more would only take cores from the others.
        threads = 1 if device.startswith("cuda") else max(1, (os.cpu_count() or 1) // self.size)
        process = self.context.Process(target=_serve, args=(theirs, self.bench, device, threads), daemon=True)
        process.start()
        theirs.close()
        self.processes[ours], self.seats[ours] = process, seat
        return ours

    def _dismiss(self, connection: Connection) -> int | None:
        """Forget a worker that has ended or is about to; gives its exit code."""
        process = self.processes.pop(connection)
        self.seats.pop(connection)
        connection.close()
        process.join(ENDING)
        if process.is_alive():
            process.kill()
            process.join()
        return process.exitcode

    def _take_back(self, connection: Connection) -> None:
        job = self.doing.pop(connection)
        try:
            seconds, trouble, broken = connection.recv()
        except (EOFError, ConnectionResetError):  # the second where it never read its job
            seconds, trouble, broken = 0.0, None, True
        if broken:
            exit_code = self._dismiss(connection)
            trouble = trouble or f"its process ended with exit code {exit_code}"
        else:
            self.idle.append(connection)
        if trouble is not None:
            self.outcome.failed[job.label] = trouble
            self.tell(f"failed: {job.label}: {trouble}")
            return
        self.clock.learn(job, seconds)
        self.outcome.done.append(job.label)
        waiting = len(self.pending) + len(self.doing)
        self.tell(f"done in {seconds:.0f} s: {job.label} ({waiting} to go)")


def _serve(connection: Connection, bench: Bench, device: str, threads: int) -> None:
    """A worker's life: take a job, do it, say how it went; end where it broke."""
    import torch

    torch.set_num_threads(threads)
    while True:
        try:
            job: Job = connection.recv()
        except EOFError:
            return
        report: tuple[float, str | None, bool]
        try:
            report = do_job(job, bench, device), None, False
        except InputError as error:
            report = 0.0, str(error), False
        except Exception:
            # The crew must outlive one broken job; the whole story goes to whoever reads the outcome.
            report = 0.0, traceback.format_exc(), True
        connection.send(report)
        if report[-1]:
            return
