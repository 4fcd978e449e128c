"""Record what a Python program does to the files of a folder. The recorder is C, loaded into the program."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("recorder.c")
MARKS = ".marks"
"""A folder under the root: making the file `.marks/NAME` says that NAME is acknowledged."""


@dataclass(frozen=True)
class Event:
    """One change of names, one fsync, or one write of a database."""

    kind: str
    """create, mkdir, rename, link, unlink, sync or write."""
    path: str
    other: str = ""
    data: bytes | None = None
    """The bytes of the file at a sync, rename or link, and after a write."""


def can_record() -> bool:
    """Whether this machine can build and load the recorder."""
    return sys.platform == "linux" and shutil.which("gcc") is not None


def record(program: str, root: Path, scratch: Path, environment: dict[str, str] | None = None) -> list[Event]:
    """Run a Python program and return what it did under `root`, which is empty before; paths are relative to it."""
    library, out = scratch / "recorder.so", scratch / "recorded"
    scratch.mkdir(parents=True, exist_ok=True)
    if not library.is_file():
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl", "-lpthread"], check=True)
    shutil.rmtree(out, ignore_errors=True)
    (out / "bytes").mkdir(parents=True)
    (root / MARKS).mkdir(parents=True, exist_ok=True)
    python_path = os.pathsep.join([str(SOURCE.parents[1]), os.environ.get("PYTHONPATH", ""), *sys.path])
    variables = {
        "PYTHONPATH": python_path, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "LD_PRELOAD": str(library),
        "RECORD_ROOT": str(root), "RECORD_OUT": str(out), **(environment or {}),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **variables}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return [_event(line, root, out) for line in (out / "events").read_text().splitlines()]


def _event(line: str, root: Path, out: Path) -> Event:
    number, kind, path, other = line.split("\t")
    data = out / "bytes" / number
    inside = [os.path.relpath(one, root) if one else "" for one in (path, other)]
    return Event(kind, *inside, data.read_bytes() if data.is_file() else None)
