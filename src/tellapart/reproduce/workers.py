"""Worker processes that run one job after another."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from statistics import median

from tellapart.core.errors import InputError
from tellapart.reproduce.jobs import Job
from tellapart.reproduce.messages import Report, silent
from tellapart.reproduce.run_job import run_job
from tellapart.reproduce.settings import ReproduceSettings
from tellapart.training.replay import NotRecordable

SECONDS_TO_END = 10.0
"""How long a worker has to end by itself before it is killed."""


@dataclass
class Outcome:
    """What became of the jobs, by label."""

    done: list[str] = field(default_factory=list)
    cached: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """With the reason."""
    left: list[str] = field(default_factory=list)
    """Not started, or stopped, for lack of time; the same call resumes them."""


class Clock:
    """Estimates how long jobs take from those done so far, and knows when time is up."""

    def __init__(self, limit: float | None) -> None:
        self.started, self.limit = time.monotonic(), limit
        self.spent: dict[str, tuple[float, float]] = {}
        """Sums of seconds and sizes of the jobs done, by recipe name."""

    def left(self) -> float:
        """Seconds left."""
        return float("inf") if self.limit is None else self.limit - (time.monotonic() - self.started)

    def record(self, job: Job, seconds: float) -> None:
        """Remember how long a job took."""
        if not job.size:
            return  # only measured
        before, size = self.spent.get(job.recipe.name, (0.0, 0.0))
        self.spent[job.recipe.name] = before + seconds, size + job.size

    def expected(self, job: Job) -> float:
        """Seconds that a job is expected to take: at the rate of its recipe, or the median of the others."""
        rates = {name: seconds / size for name, (seconds, size) in self.spent.items() if size}
        return rates.get(job.recipe.name, median(rates.values()) if rates else 0.0) * job.size

    def allows(self, job: Job) -> bool:
        """Whether a job is expected to end in time."""
        return self.left() > max(self.expected(job) * 1.1, 5.0)


NOT_RECORDABLE = "its steps cannot be recorded"
"""The reason of a job that is to run again without recording."""
LONGEST_FIRST: Mapping[str, int] = {}
"""Stands for places in an order that are not given."""


def next_job(
    pending: dict[str, Job], running: set[str], clock: Clock, places: Mapping[str, int] = LONGEST_FIRST
) -> Job | None:
    """The first job that can start and is expected to end in time, by its place in an order. Without an order, the
    longest; jobs that others wait for come first."""
    unfinished = set(pending) | running
    ready = [job for job in pending.values() if job.base not in unfinished and clock.allows(job)]
    if places:
        return min(ready, key=lambda job: places[job.key], default=None)
    return max(ready, key=lambda job: (job.needed_later, clock.expected(job), job.size), default=None)


class WorkerPool:
    """Worker processes. A worker that dies takes only its own job with it.

    A worker whose job raised an unexpected error is replaced: after some errors (an illegal memory access of a CUDA
    kernel) every later job in the same process would fail too.
    """

    def __init__(
        self,
        pending: dict[str, Job],
        settings: ReproduceSettings,
        clock: Clock,
        outcome: Outcome,
        report: Report = silent,
        places: Mapping[str, int] = LONGEST_FIRST,
    ) -> None:
        """places: by key, the place of each job in the order to start them. Default: longest first."""
        self.pending, self.settings, self.size = pending, settings, settings.jobs
        self.clock, self.outcome, self.report, self.places = clock, outcome, report, places
        # A forked process cannot use CUDA: spawn each.
        self.context = multiprocessing.get_context("spawn")
        self.running: dict[Connection, Job] = {}
        self.processes: dict[Connection, multiprocessing.process.BaseProcess] = {}
        self.idle: list[Connection] = []
        self.not_recordable: set[str] = set()
        """Keys of jobs whose steps cannot be recorded."""
        self.numbers: dict[Connection, int] = {}
        """The number of each worker, from 0: a replacement has the same number and so the same device."""

    def run(self) -> None:
        """Run all jobs that fit into the time."""
        try:
            while True:
                self._start_jobs()
                if not self.running:
                    break
                ready = multiprocessing.connection.wait(list(self.running), timeout=min(self.clock.left(), 1e6))
                if not ready:
                    break
                for connection in ready:
                    self._collect(connection)  # type: ignore[arg-type]
        finally:
            self.outcome.left.extend(job.label for job in (*self.pending.values(), *self.running.values()))
            for process in self.processes.values():
                process.terminate()
            for process in self.processes.values():
                process.join()

    def _start_jobs(self) -> None:
        while self.idle or len(self.processes) < self.size:
            job = next_job(self.pending, {job.key for job in self.running.values()}, self.clock, self.places)
            if job is None:
                return
            connection = self.idle.pop() if self.idle else self._start_worker()
            self.pending.pop(job.key)
            self.running[connection] = job
            connection.send((job, job.key not in self.not_recordable))

    def _start_worker(self) -> Connection:
        ours, theirs = self.context.Pipe()
        number = min(set(range(self.size)) - set(self.numbers.values()))
        device = self.settings.devices[number % len(self.settings.devices)]
        # A GPU's process needs one thread to feed it; more would only take cores from the others.
        threads = 1 if device.startswith("cuda") else max(1, (os.cpu_count() or 1) // self.size)
        process = self.context.Process(target=work, args=(theirs, self.settings, device, threads), daemon=True)
        process.start()
        theirs.close()
        self.processes[ours], self.numbers[ours] = process, number
        return ours

    def _end_worker(self, connection: Connection) -> int | None:
        """Forget a worker that has ended or is about to; returns its exit code."""
        process = self.processes.pop(connection)
        self.numbers.pop(connection)
        connection.close()
        process.join(SECONDS_TO_END)
        if process.is_alive():
            process.kill()
            process.join()
        return process.exitcode

    def _collect(self, connection: Connection) -> None:
        """Take the result of a worker's job."""
        job = self.running.pop(connection)
        try:
            seconds, reason, broken = connection.recv()
        except (EOFError, ConnectionResetError):  # the second where it never read its job
            seconds, reason, broken = 0.0, None, True
        if broken:
            exit_code = self._end_worker(connection)
            reason = reason or f"its process ended with exit code {exit_code}"
        else:
            self.idle.append(connection)
        if reason == NOT_RECORDABLE:
            self.not_recordable.add(job.key)
            self.pending[job.key] = job
            self.report(f"again, without recording its steps: {job.label}")
            return
        if reason is not None:
            self.outcome.failed[job.label] = reason
            self.report(f"failed: {job.label}: {reason}")
            return
        self.clock.record(job, seconds)
        self.outcome.done.append(job.label)
        waiting = len(self.pending) + len(self.running)
        self.report(f"done in {seconds:.0f} s: {job.label} ({waiting} to go)")


def work(connection: Connection, settings: ReproduceSettings, device: str, threads: int) -> None:
    """The main function of a worker process: receive jobs and whether to record their steps, run them, send (seconds,
    reason of failure, broken)."""
    import torch

    torch.set_num_threads(threads)
    while True:
        try:
            job, record = connection.recv()
        except EOFError:
            return
        result: tuple[float, str | None, bool]
        try:
            result = run_job(job, replace(settings, replay=settings.replay and record), device), None, False
        except NotRecordable:
            result = 0.0, NOT_RECORDABLE, True  # what a failed recording leaves on the device is not known
        except InputError as error:
            result = 0.0, str(error), False
        except Exception:
            # The pool must survive one broken job; the whole traceback goes into the outcome.
            result = 0.0, traceback.format_exc(), True
        connection.send(result)
        if result[-1]:
            return
