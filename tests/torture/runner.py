"""Runs cases in forked processes, so that a crash, a hang or too much memory concerns one case and names it."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torture import memory, shim
from torture.campaign import Campaign, Case

SPACE = 6 << 30
"""Address space that a case may add: a limit far above what it may hold, so that the machine survives."""


@dataclass
class Outcome:
    """What came of some cases."""

    failures: dict[int, str] = field(default_factory=dict)
    peak: int = 0
    seconds: float = 0.0


def make(campaign: Campaign, folder: Path) -> None:
    """Fill the folder of a campaign in a forked process."""
    child = os.fork()
    if not child:
        _quietly(lambda: campaign.make(folder), folder.with_suffix(".log"))
    _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError(f"{folder.name} cannot be set up:\n{folder.with_suffix('.log').read_text()[-3000:]}")


def run(campaign: Campaign, numbers: Sequence[int], seed: int, folder: Path) -> Outcome:
    """Run cases in order, a chunk per process; after a crash the next process continues."""
    outcome, started = Outcome(), time.monotonic()
    left = list(numbers)
    while left:
        done = _run_chunk(campaign, left[: campaign.chunk], seed, folder, outcome)
        left = left[done:]
    outcome.seconds = time.monotonic() - started
    return outcome


def _run_chunk(campaign: Campaign, numbers: list[int], seed: int, folder: Path, outcome: Outcome) -> int:
    """How many of the cases have been run: all, or those up to one that crashed or hangs."""
    reader, writer = os.pipe()
    log = folder.with_suffix(".log")
    child = os.fork()
    if not child:
        os.close(reader)
        _quietly(lambda: _cases(campaign, numbers, seed, folder, writer), log)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        lines, hangs = _listen(pipe.fileno(), campaign.limit)
    if hangs:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    outcome.peak = max(outcome.peak, usage.ru_maxrss * 1024)
    ended = 0
    for line in lines:
        number, size, fault = line.split("\t", 2)
        ended += 1
        if fault:
            outcome.failures[int(number)] = fault
        elif int(size) > campaign.most_bytes:
            outcome.failures[int(number)] = f"held {int(size) >> 20} MB"
        outcome.peak = max(outcome.peak, int(size))
    if ended < len(numbers):
        reason = f"hangs (over {campaign.limit:.0f} s)" if hangs else _ending(status)
        outcome.failures[numbers[ended]] = f"{reason} {_last_lines(log)}"
        for left in folder.parent.glob(f"{numbers[ended]}-*"):
            shutil.rmtree(left, ignore_errors=True)
        ended += 1
    return ended


def _listen(pipe: int, limit: float) -> tuple[list[str], bool]:
    """The lines that a process writes until it ends, and whether it stopped writing for too long."""
    text = b""
    while True:
        ready, _, _ = select.select([pipe], [], [], limit)
        if not ready:
            return _whole_lines(text), True
        piece = os.read(pipe, 1 << 16)
        if not piece:
            return _whole_lines(text), False
        text += piece


def _whole_lines(text: bytes) -> list[str]:
    return text.decode().split("\n")[:-1]


def _cases(campaign: Campaign, numbers: list[int], seed: int, folder: Path, pipe: int) -> None:
    """In the forked process: run the cases and report each in a line."""
    soft = memory._status("self", "VmSize") + SPACE
    resource.setrlimit(resource.RLIMIT_AS, (soft, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    shim.skip_sync()
    for number in numbers:
        memory.forget_peak()
        fault = _fault(campaign, number, seed, folder)
        size = max(memory.peak(), memory.peak_of_children())
        os.write(pipe, f"{number}\t{size}\t{fault}\n".encode("utf-8", "backslashreplace"))


def _fault(campaign: Campaign, number: int, seed: int, folder: Path) -> str:
    """What a case raised, in one line; empty where it held."""
    random.seed(f"{seed} {number}")
    scratch = Path(tempfile.mkdtemp(prefix=f"{number}-", dir=folder.parent))
    try:
        campaign.run(Case(number, seed, folder, scratch))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        traceback.print_exc()
        places = [f"{Path(one.filename).name}:{one.lineno}" for one in traceback.extract_tb(error.__traceback__)]
        return " ".join(f"{type(error).__name__}: {error} [{' '.join(places[-4:])}]".split())[:600]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return ""


def _quietly(work, log: Path) -> None:  # type: ignore[no-untyped-def]
    """In a forked process: run with standard output and error in a file, and end the process."""
    os.setpgid(0, 0)
    stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    faulthandler.enable(sys.__stderr__ or sys.stderr)
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _ending(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"


def _last_lines(log: Path) -> str:
    with contextlib.suppress(OSError):
        return " | ".join(log.read_text(errors="replace").splitlines()[-6:])[:500]
    return ""
