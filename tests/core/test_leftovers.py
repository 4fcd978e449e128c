"""What killed processes leave behind: old folders come back, partial files go."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tellapart.core import files
from tellapart.core.errors import InputError
from tellapart.core.files import atomic_folder, write_text
from tellapart.core.leftovers import OLD_SECONDS, recover, remove_leftovers
from tellapart.data.pack import Pack
from tellapart.data.write_pack import check_overwrite
from tiny_pack import make_tiny_pack

KILLED_BETWEEN_RENAMES = """
import os, signal, sys
from pathlib import Path
from tellapart.core import files
real = os.replace
def replace(source, target):
    real(source, target)
    if str(target).endswith(".replaced"):
        os.kill(os.getpid(), signal.SIGKILL)
os.replace = replace
with files.atomic_folder(Path(sys.argv[1])) as partial:
    (partial / "new").write_text("1")
"""


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_pack_whose_replacement_was_killed_is_found_again(tmp_path: Path) -> None:
    pack = make_tiny_pack(tmp_path / "pk")
    done = subprocess.run([sys.executable, "-c", KILLED_BETWEEN_RENAMES, str(pack.folder)])
    assert done.returncode == -signal.SIGKILL and not pack.folder.exists()
    assert Pack(pack.folder).fingerprint == pack.fingerprint
    with pytest.raises(InputError, match="is a pack already"):
        check_overwrite(pack.folder, overwrite=False)
    with atomic_folder(pack.folder) as partial:
        (partial / "new").write_text("1")
    assert os.listdir(pack.folder) == ["new"]
    assert [name for name in os.listdir(tmp_path) if name.endswith(".replaced")] == []


def test_only_old_partial_files_of_ended_processes_are_removed(tmp_path: Path) -> None:
    ended, long_ago = ended_process(), time.time() - OLD_SECONDS - 1
    old, young = tmp_path / f".a.{ended}.partial", tmp_path / f".a.{ended}000.partial"
    running, other = tmp_path / f".a.{os.getpid()}.partial", tmp_path / f".b.{ended}.partial"
    for folder in (old, young, running, other):
        folder.mkdir()
        (folder / "half").write_text("1")
    for folder in (old, running, other):
        os.utime(folder, (long_ago, long_ago))
    remove_leftovers(tmp_path / "a")
    assert sorted(tmp_path.iterdir()) == sorted([young, running, other])


def test_a_folder_that_exists_is_never_replaced_by_a_leftover(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / f".a.{ended_process()}.replaced").mkdir()
    assert not recover(tmp_path / "a")
    remove_leftovers(tmp_path / "a")
    assert os.listdir(tmp_path) == ["a"]


def test_folders_are_written_to_the_disk_after_a_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[Path] = []
    monkeypatch.setattr(files, "flush_folder", flushed.append)
    write_text(tmp_path / "a", "1")
    assert flushed == [tmp_path]
    with atomic_folder(tmp_path / "b") as partial:
        (partial / "inside").mkdir()
        (partial / "inside" / "c").write_text("1")
    assert flushed[1:] == [partial / "inside", partial, tmp_path]


def test_a_process_that_started_later_has_the_number_by_chance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power failure, the number of the process that was replacing a pack may belong to another one."""
    leftover = tmp_path / f".pack.{os.getpid()}.replaced"
    leftover.mkdir()
    assert not recover(tmp_path / "pack")  # we run, and started before
    monkeypatch.setattr("tellapart.core.leftovers._started", lambda process: time.time() + 60)
    assert recover(tmp_path / "pack") and not leftover.exists()
