"""Work in a forked child process that may be killed: the process that runs the cases itself never changes."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from torture.campaign import Broken


def start(work: Callable[[], None], log: Path) -> int:
    """The number of a child process that runs `work`; its exit code is 0, or 1 with the error in `log`."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException as error:
        with contextlib.suppress(OSError):
            places = [f"{Path(one.filename).name}:{one.lineno}" for one in traceback.extract_tb(error.__traceback__)]
            log.write_text(f"{type(error).__name__}: {error} [{' '.join(places[-5:])}]", errors="backslashreplace")
    finally:
        os._exit(code)


def finish(child: int) -> int:
    """Wait for a child process; its exit code, negative for a signal."""
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def must_succeed(work: Callable[[], None], log: Path, what: str) -> None:
    """Run work in a child process; raise Broken with its error if it fails."""
    code = finish(start(work, log))
    if code:
        raise Broken(f"{what}: {log.read_text(errors='replace') if log.is_file() else f'exit code {code}'}")


def kill_after(child: int, seconds: float) -> int:
    """Kill a child process after some time, unless it has ended; its exit code."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(min(0.002, max(0.0, end - time.monotonic())))
    os.kill(child, signal.SIGKILL)
    return finish(child)


def drawn_moment(seed: object, seconds: float) -> float:
    """A moment in work that takes so long, or shortly after it."""
    return random.Random(str(seed)).uniform(0, 1.1 * seconds)
