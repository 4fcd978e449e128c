"""A disk that is full or read-only: one sentence, everything as it was."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from embeds_colours import Colours, fill, paint
from index_rows import by_name
from tellapart.cli import main as command_line
from tellapart.core.files import atomic_folder, atomic_path, save_array
from tellapart.search.check_path import check_path
from tellapart.search.sqlite.sqlite_store import SqliteStore
from tellapart.search.store import open_store
from tellapart.search.table_errors import UnwritableIndex


class SafetensorError(Exception):
    """As safetensors raises it."""


FULL = SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")


def test_errors_of_libraries_become_one_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    for raised in (FULL, OSError("4096 requested and 0 written"), OSError(errno.ENOSPC, "No space left on device")):
        with pytest.raises(OSError) as caught, atomic_path(tmp_path / "a") as partial:
            partial.write_text("new")
            raise raised
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "a"))
        with pytest.raises(OSError), atomic_folder(tmp_path / "folder"):
            raise raised
    assert os.listdir(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "old"
    with pytest.raises(SafetensorError), atomic_path(tmp_path / "a"):
        raise SafetensorError("a fault of another kind")


def test_the_command_line_says_it_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(options: object) -> None:
        with atomic_path(tmp_path / "model.safetensors"):
            raise FULL

    options, _ = command_line.load("recipes")
    monkeypatch.setattr(command_line, "load", lambda verb: (options, full))
    assert command_line.main(["recipes"]) == 1
    said = capsys.readouterr().err
    assert "model.safetensors cannot be read or written (No space left on device)" in said and "Traceback" not in said


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_numpy_on_a_device_without_space_is_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.open
    monkeypatch.setattr(Path, "open", lambda self, *how: real(Path("/dev/full") if "wb" in how else self, *how))
    with pytest.raises(OSError) as caught:
        save_array(tmp_path / "a.npy", np.zeros(1 << 16))
    assert caught.value.errno == errno.ENOSPC


def test_an_index_on_a_full_disk_is_as_it_was(tmp_path: Path) -> None:
    paint(tmp_path / "photos" / "a.png", (9, 0, 0))
    store, _ = fill(tmp_path / "index", Colours(), tmp_path / "photos")
    assert isinstance(store, SqliteStore)
    before = by_name(store)
    with store.connections.reading() as connection:
        connection.execute("PRAGMA max_page_count = 1")  # no page more than there are
    with pytest.raises(UnwritableIndex, match=r"cannot be written .No space left on device.; it is as it was"):
        store.edit(str(tmp_path / "photos" / "a.png"), "long " * 20_000)
    assert by_name(store) == before
    store.edit(str(tmp_path / "photos" / "a.png"), "long " * 20_000)  # another connection, with space


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_index_is_read_and_not_edited(tmp_path: Path) -> None:
    photo = paint(tmp_path / "photos" / "a.png", (9, 0, 0))
    fill(tmp_path / "index", Colours(), tmp_path / "photos")[0].close()
    for path, rights in ((tmp_path / "index" / "photos.sqlite", 0o444), (tmp_path / "index", 0o555)):
        path.chmod(rights)
    try:
        store = open_store(str(tmp_path / "index"))
        assert len(store) == 1 and not check_path(store.where).problems
        with pytest.raises(UnwritableIndex, match=r"cannot be written .Read-only file system"):
            store.edit(str(photo), "mine")
    finally:
        (tmp_path / "index").chmod(0o755)
