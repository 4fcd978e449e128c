"""The order of runs is planned from the cache, printed, and followed by all that run jobs."""

import multiprocessing
import threading
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, get_args
from unittest.mock import Mock

import pytest

from small_recipes import small_row
from tellapart.cli import reproduce_batch
from tellapart.papers import tables
from tellapart.reproduce import runner, workers
from tellapart.reproduce.cache import Cache
from tellapart.reproduce.jobs import Job
from tellapart.reproduce.plan import plan
from tellapart.reproduce.runner import run_tables
from tellapart.reproduce.schedule import schedule
from tellapart.reproduce.settings import Order, ReproduceSettings
from tellapart.reproduce.table import RSUM, Claim, Greater, Table
from tellapart.reproduce.workers import Clock, WorkerPool, next_job, work
from tellapart.training.replay import NotRecordable

SHARE = 0.02
TABLE = Table(
    name="test/table",
    paper="none",
    title="a claim about the two shortest rows",
    rows=(
        small_row("longest", "convse++"),
        small_row("short", "vse", ("base.epochs=10",)),
        small_row("shorter", "vse++", ("base.epochs=10",)),
    ),
    columns=(RSUM,),
    claims=(Claim("which is short", (Greater("shorter", "short", "R@sum"),)),),
    seeds=2,
)
BY_CLAIMS = ["short, seed 0", "shorter, seed 0", "short, seed 1", "shorter, seed 1"]
LONGEST = ["longest, seed 0", "longest, seed 1"]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The rows and seeds whose jobs were started; each is done at once."""
    found: list[str] = []

    def run_job(job: Job, settings: ReproduceSettings, device: str) -> float:
        found.append(job.label.removeprefix("test/table: "))
        return 1.0

    monkeypatch.setattr(runner, "run_job", run_job)
    monkeypatch.setattr(workers, "run_job", run_job)
    return found


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are threads, which find the jobs that `started` put in place."""

    def start(pool: WorkerPool) -> Connection:
        ours, theirs = multiprocessing.Pipe()
        import torch

        arguments = (theirs, pool.settings, "cpu", torch.get_num_threads())
        threading.Thread(target=work, args=arguments, daemon=True).start()
        pool.processes[ours], pool.numbers[ours] = Mock(), len(pool.numbers)
        return ours

    monkeypatch.setattr(WorkerPool, "_start_worker", start)


def test_a_plan_says_which_jobs_a_row_has(pack: Path, tmp_path: Path) -> None:
    """A row of another table that trains the same has the same jobs."""
    other = replace(TABLE, name="test/other", rows=(replace(TABLE.rows[1], name="renamed"),), claims=())
    planned = plan([TABLE, other], ReproduceSettings(pack, tmp_path, share=SHARE))
    jobs = {job.key: job for job in planned.jobs}
    assert set(planned.rows) == {*(("test/table", row.name) for row in TABLE.rows), ("test/other", "renamed")}
    for (_, row), keys in planned.rows.items():
        assert [jobs[key].recipe.seed for key in keys] == [0, 1]
        assert row == "renamed" or all(f": {row}, seed" in jobs[key].label for key in keys)
    assert planned.rows["test/other", "renamed"] == planned.rows["test/table", "short"]


def test_a_row_that_cannot_be_run_has_no_jobs(pack: Path, tmp_path: Path) -> None:
    bare = small_row("LTD", "ltd-baseline-ltd", ("warm-up.sampling.columns=none-such",))
    planned = plan([replace(TABLE, rows=(*TABLE.rows[:1], bare))], ReproduceSettings(pack, tmp_path, share=SHARE))
    assert set(planned.rows) == {("test/table", "longest")}


@pytest.mark.parametrize(("order", "wanted"), [("claims", BY_CLAIMS + LONGEST), ("longest", LONGEST)])
@pytest.mark.parametrize("limit", [None, 3600.0])
@pytest.mark.usefixtures("threads")
def test_runs_follow_the_order(
    order: Order, wanted: list[str], limit: float | None, pack: Path, tmp_path: Path, started: list[str]
) -> None:
    """In this process, and by a worker, which a limit needs."""
    settings = ReproduceSettings(pack, tmp_path, share=SHARE, order=order, seconds_limit=limit)
    outcome = run_tables([TABLE], settings)
    assert started[: len(wanted)] == wanted and len(outcome.done) == len(started) == 6


@pytest.mark.usefixtures("threads")
def test_a_job_that_cannot_be_recorded_runs_again_without(
    pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a new process, since a failed recording may leave the device unusable; other jobs are still recorded."""
    tried: list[tuple[str, bool]] = []

    def run_job(job: Job, settings: ReproduceSettings, device: str) -> float:
        tried.append((job.label.removeprefix("test/table: "), settings.replay))
        if settings.replay and "longest" in job.label:
            raise NotRecordable("a step of this stage could not be recorded")
        return 1.0

    monkeypatch.setattr(workers, "run_job", run_job)
    lines: list[str] = []
    outcome = run_tables(
        [TABLE], ReproduceSettings(pack, tmp_path, share=SHARE, replay=True, seconds_limit=3600.0), lines.append
    )
    assert len(outcome.done) == 6 and not outcome.failed and not outcome.left
    plain = [label for label, recorded in tried if not recorded]
    assert sorted(plain) == ["longest, seed 0", "longest, seed 1"] and len(tried) == 8
    assert sum("again, without recording" in line for line in lines) == 2


@pytest.mark.usefixtures("threads", "started")
def test_two_workers_are_given_jobs_in_the_order(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which worker then starts first is up to the operating system."""
    given: list[str] = []

    def record(*arguments: Any) -> Job | None:
        job = next_job(*arguments)
        given.extend([job.label.removeprefix("test/table: ")] if job else [])
        return job

    monkeypatch.setattr(workers, "next_job", record)
    run_tables([TABLE], ReproduceSettings(pack, tmp_path, share=SHARE, order="claims", jobs=2, device="cpu,cpu"))
    assert given == BY_CLAIMS + LONGEST


def test_a_job_that_would_not_end_in_time_is_passed_over(pack: Path, tmp_path: Path) -> None:
    """Also where it is the first in the order. What waits for its base is passed over, too."""
    jobs = {job.label.removeprefix("test/table: "): job for job in plan([TABLE], settings_of(pack, tmp_path)).jobs}
    first, second = (jobs[label] for label in ("longest, seed 0", "short, seed 0"))
    pending, places = {job.key: job for job in (second, first)}, {first.key: 0, second.key: 1}
    clock = Clock(100.0)
    assert next_job(pending, set(), clock, places) is first
    clock.record(first, 1000.0)
    assert clock.expected(second) < 1000.0
    clock.record(second, 1.0)
    assert next_job(pending, set(), clock, places) is second
    waiting = {first.key: replace(first, base=second.key), second.key: second}
    assert next_job(waiting, set(), Clock(None), places) is second
    assert next_job({first.key: waiting[first.key]}, {second.key}, Clock(None), places) is None


def settings_of(pack: Path, cache: Path) -> ReproduceSettings:
    return ReproduceSettings(pack, cache, share=SHARE, order="claims")


def test_what_the_cache_holds_is_neither_planned_nor_counted_as_open(pack: Path, tmp_path: Path) -> None:
    """With one seed of the short rows, the claim waits for their other seeds; times are those of the runs."""
    settings = settings_of(pack, tmp_path)
    before = schedule(plan([TABLE], settings), settings)
    assert (before.claims, before.decided, before.open, before.timed) == (1, 0, 1, False)
    run_tables([TABLE.only(("short", "shorter"))], replace(settings, seeds=1))
    after = schedule(plan([TABLE], settings), settings)
    assert after.timed and after.decided + after.open == 1
    labels = [one.job.label.removeprefix("test/table: ") for one in after.jobs]
    if after.open:
        assert labels == [*BY_CLAIMS[2:], *LONGEST] and [one.claims for one in after.jobs] == [0, 1, 1, 1]
    seconds = {one.recipe["name"]: one.seconds for one in Cache(tmp_path).fresh_results()}
    found = {label: one.seconds for label, one in zip(labels, after.jobs)}
    assert found["short, seed 1"] == pytest.approx(seconds["vse"])
    assert found["shorter, seed 1"] == pytest.approx(seconds["vse++"])


@pytest.mark.parametrize("order", get_args(Order))
def test_the_plan_is_printed_and_nothing_is_run(
    order: Order, pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(tables.TABLES, TABLE.name, TABLE)
    arguments = ["--tables", TABLE.name, "--data", str(pack), "--cache", str(tmp_path / "cache"), "--order", order]
    assert reproduce_batch.main([*arguments, "--share", str(SHARE), "--plan"]) == 0
    summary, heading, *lines = capsys.readouterr().out.splitlines()
    assert summary.startswith("0 of 1 claims are decided, 1 wait for these runs; no run")
    assert heading.split() == ["seconds", "in", "all", "claims", "run"]
    named = [line.partition("test/table: ")[2] for line in lines]
    claims = [line.split()[2] for line in lines]
    if order == "claims":
        assert named == BY_CLAIMS + LONGEST and claims == ["0", "0", "0", "1", "1", "1"]
    else:
        assert named[:2] == LONGEST and claims == ["0"] * 5 + ["1"]
    assert not (tmp_path / "cache").exists()
