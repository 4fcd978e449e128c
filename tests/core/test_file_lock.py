"""One process at a time holds a lock, on every system."""

import subprocess
import sys
import types
from pathlib import Path

import pytest

from tellapart.core.errors import InputError
from tellapart.core.file_lock import lock
from tellapart.core.only_writer import only_writer

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


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A system without `fcntl`, whose locks are all free."""
    module = types.ModuleType("msvcrt")
    module.LK_NBLCK = 2  # type: ignore[attr-defined]
    module.calls = []  # type: ignore[attr-defined]
    module.locking = lambda *call: module.calls.append(call)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "msvcrt", module)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setattr(sys, "platform", "win32")
    return module


def test_windows_locks_the_first_byte_without_waiting(tmp_path: Path, windows: types.ModuleType) -> None:
    with (tmp_path / ".lock").open("w") as file:
        lock(file)
        assert windows.calls == [(file.fileno(), 2, 1)]


def test_windows_locks_a_file_next_to_a_folder(tmp_path: Path, windows: types.ModuleType) -> None:
    with only_writer(tmp_path / "run", "training in"):
        assert len(windows.calls) == 1
        assert list((tmp_path / "run").iterdir()) == []  # a run starts in an empty folder
    assert (tmp_path / ".run.lock").exists()

    def held(*call: int) -> None:
        raise PermissionError(13, "Permission denied")

    windows.locking = held  # type: ignore[attr-defined]
    with (
        pytest.raises(InputError, match="Another process is training in"),
        only_writer(tmp_path / "run", "training in"),
    ):
        pass


def test_nothing_is_imported_that_only_unix_has() -> None:
    modules = "tellapart.features.store_writer, tellapart.search.update, tellapart.training.train"
    code = f"import sys; sys.modules['fcntl'] = None; import {modules}"
    subprocess.run([sys.executable, "-c", code], check=True)
