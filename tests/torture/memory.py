"""How much memory a process has held at most, counted separately for every case."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path


def forget_peak() -> None:
    """Start counting from what is held now."""
    with contextlib.suppress(OSError):  # some containers do not allow it: the peak is then that of all cases so far
        Path("/proc/self/clear_refs").write_text("5")


def peak(process: int | str = "self") -> int:
    """The most bytes held since `forget_peak`."""
    return _status(process, "VmHWM")


def held(process: int | str = "self") -> int:
    """The bytes held now."""
    return _status(process, "VmRSS")


def peak_of_children() -> int:
    """The most bytes that a child process which ended has held."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def _status(process: int | str, name: str) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    return 0
