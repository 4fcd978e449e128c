"""The campaigns of `make torture`: a sample of each, and that their runner notices what goes wrong."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from torture import results
from torture.campaign import Campaign, Case, check, number_of
from torture.campaigns import CAMPAIGNS
from torture.mutants import mutated
from torture.runner import run

TESTS = Path(__file__).parents[1]


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    call = [sys.executable, "-m", "torture", *arguments]
    return subprocess.run(call, env=environment, capture_output=True, text=True, timeout=590)


@pytest.mark.slow
def test_a_sample_of_every_campaign(tmp_path: Path) -> None:
    """In one process: campaigns share folders and imports, which take longer than the cases."""
    done = command("--sample", "--library", str(tmp_path / "library"))
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    rows = re.findall(r"^\| ([a-z0-9-]+) \| (\d+|skipped)", done.stdout, re.MULTILINE)
    assert [name for name, _ in rows] == list(CAMPAIGNS)
    assert all(count != "0" for _, count in rows)


def misbehave(case: Case) -> None:
    if case.number == 1:
        check(False, "a promise is broken")
    if case.number == 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    if case.number == 3:
        time.sleep(60)
    if case.number == 4:
        len(b"x" * (600 << 20))
    if case.number == 5:
        raise KeyError("x")
    (case.scratch / "left").touch()


def test_crashes_hangs_and_memory_concern_one_case(tmp_path: Path) -> None:
    (tmp_path / "world").mkdir()
    # What a forked process holds: this one may hold far more, in files that a fork does not map at once.
    quiet = run(Campaign(misbehave, number_of(1), 1), range(1), 0, tmp_path / "world")
    campaign = Campaign(misbehave, number_of(8), 8, limit=20, most_bytes=quiet.peak + (200 << 20))
    outcome = run(campaign, range(8), 0, tmp_path / "world")
    faults = outcome.failures
    assert sorted(faults) == [1, 2, 3, 4, 5]
    assert faults[1].startswith("Broken: a promise is broken")
    assert faults[2].startswith("killed by SIGSEGV") and faults[3].startswith("hangs")
    assert re.fullmatch(r"held \d+ MB", faults[4]) and faults[5].startswith("KeyError")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["world", "world.log"]


def test_progress_continues_and_a_case_run_again_counts_once(tmp_path: Path) -> None:
    file = tmp_path / "progress.jsonl"
    results.append(file, "a", 1, [0, 1], results.Outcome({1: "crash"}, 5, 1.0))
    results.append(file, "a", 2, [0], results.Outcome({0: "crash"}, 5, 1.0))
    results.append(file, "a", 1, [1], results.Outcome({}, 7, 1.0))
    with file.open("a") as stream:
        stream.write('{"campaign": "a", "se')
    total = results.read(file, 1)["a"]
    assert (total.done, total.failures, total.peak, total.seconds) == ({0, 1}, {}, 7, 2.0)


def test_mutants_are_drawn_from_the_seed() -> None:
    import random

    data = b'{"a": 17, "b": [1, 2]}' * 20
    drawn = [mutated(data, random.Random(seed), [data]) for seed in range(200)]
    assert drawn == [mutated(data, random.Random(seed), [data]) for seed in range(200)]
    assert len(set(drawn)) > 180 and drawn.count(data) < 10


def test_an_unknown_campaign_is_named() -> None:
    done = command("kils")
    assert done.returncode == 2 and "unknown campaign kils" in done.stderr
