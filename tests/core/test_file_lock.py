"""One process at a time holds a lock, on every system."""

import subprocess
import sys
import types
from pathlib import Path

import pytest

from tellapart.core.file_lock import lock

HOLD = """
import sys
from tellapart.core.file_lock import lock
file = open(sys.argv[1], "w")
try:
    lock(file)
except OSError:
    print("held")
else:
    print("free")
"""


def other(path: Path) -> str:
    done = subprocess.run([sys.executable, "-c", HOLD, str(path)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_second_process_does_not_get_the_lock_until_the_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with path.open("w") as file:
        lock(file)
        assert other(path) == "held"
    assert other(path) == "free"


def test_windows_locks_the_first_byte_without_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, int, int]] = []
    windows = types.ModuleType("msvcrt")
    windows.LK_NBLCK = 2  # type: ignore[attr-defined]
    windows.locking = lambda *call: calls.append(call)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    monkeypatch.setattr(sys, "platform", "win32")
    with (tmp_path / ".lock").open("w") as file:
        lock(file)
        assert calls == [(file.fileno(), 2, 1)]


def test_nothing_is_imported_that_only_unix_has() -> None:
    code = "import sys; sys.modules['fcntl'] = None; import tellapart.features.store_writer, tellapart.search.update"
    subprocess.run([sys.executable, "-c", code], check=True)
