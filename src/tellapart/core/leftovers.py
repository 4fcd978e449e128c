"""What killed processes leave beside a file or folder: partial files, and a folder that was about to be replaced.

Names are `.NAME.PID.partial` and `.NAME.PID.replaced`. A leftover of a process that still runs is left alone, and so is
a young partial file, whose process may run on another machine.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

OLD_SECONDS = 3600.0


def recover(path: Path) -> bool:
    """Bring back the folder at `path` if a process was killed while it replaced it; whether it did so.

    Such a process has moved the old folder away and not yet put the new one in its place.
    """
    if path.exists():
        return False
    for leftover in _leftovers(path, "replaced"):
        try:
            os.rename(leftover, path)
        except OSError:  # another process was faster
            continue
        return True
    return False


def remove_leftovers(path: Path) -> None:
    """Remove what killed processes left beside `path`. Call `recover` first."""
    for leftover in _leftovers(path, "replaced"):
        if path.exists():
            shutil.rmtree(leftover, ignore_errors=True)
    for leftover in _leftovers(path, "partial"):
        if time.time() - _changed(leftover) > OLD_SECONDS:
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)


def _leftovers(path: Path, kind: str) -> Iterator[Path]:
    """Leftovers of processes that run no more."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.(\d+)\.{kind}")
    try:
        names = os.listdir(path.parent)
    except OSError:
        return
    for name in sorted(names):
        found = pattern.fullmatch(name)
        if found and not (_runs(int(found[1])) and _started(int(found[1])) <= _renamed(path.parent / name)):
            yield path.parent / name


def _runs(process: int) -> bool:
    """Whether a process of this machine runs."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it belongs to somebody else
        return True
    return True


def _started(process: int) -> float:
    """When a process started; 0 where that is not known. After a power failure its number may be another's."""
    try:
        ticks = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
        booted = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime "))
        return int(booted.split()[1]) + ticks / os.sysconf("SC_CLK_TCK") - 2  # the boot time is in whole seconds
    except (OSError, ValueError, IndexError, StopIteration):
        return 0.0


def _renamed(path: Path) -> float:
    try:
        return path.stat().st_ctime
    except OSError:
        return time.time()


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return time.time()
