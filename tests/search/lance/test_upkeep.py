"""Edits leave no heap of files, and nobody who reads meanwhile notices that they are joined and deleted."""

import datetime
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from embeds_colours import Colours, paint
from lance_index import fill_lance
from tellapart.search.lance import upkeep
from tellapart.search.protocol import Store
from tellapart.search.store import open_store

pytest.importorskip("lancedb", reason="an index needs LanceDB: pip install tellapart[search]")

EDITOR = """
import sys
from tellapart.search.store import open_store
store = open_store(sys.argv[1])
for number in range(20):
    store.edit(sys.argv[2], f"other {number}")
"""


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index of six photos whose edits are tidied up after seconds."""
    for number in range(6):
        paint(tmp_path / "photos" / f"{number}.png", (40 * number, 9, 0))
    fill_lance(tmp_path / "index", Colours(), tmp_path / "photos")
    monkeypatch.setattr(upkeep, "DELAY", 3.0)
    monkeypatch.setattr(upkeep, "SHARE", 0.0)
    monkeypatch.setattr(upkeep, "KEEP", datetime.timedelta(seconds=2.5))
    return tmp_path / "index"


def files(index: Path) -> int:
    return sum(path.is_file() for path in index.rglob("*"))


def captions(store: Store) -> dict[str, str]:
    rows = list(store.rows(["path", "edited"]))
    assert len(rows) == 6
    return {Path(row["path"]).name: row["edited"] for row in rows}


def wait_until_tidy(index: Path, most: int) -> None:
    until = time.monotonic() + 90
    while files(index) > most and time.monotonic() < until:
        time.sleep(0.2)
    assert files(index) <= most


def test_edits_leave_few_files_and_readers_see_them(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tellapart.search.lance.saved.MARGIN", 0.1)
    photo, store, stop, read = str(index.parent / "photos" / "0.png"), open_store(str(index)), threading.Event(), []
    errors: list[BaseException] = []

    def reader() -> None:
        own = open_store(str(index))
        try:
            while not stop.is_set():
                read.append(captions(own)["0.png"])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=reader) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(80):
        store.edit(photo, f"edit {number}")
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors and len(read) > 2
    wait_until_tidy(index, 180)  # 500 without; the history of edits keeps one each until the next edit
    assert captions(open_store(str(index)))["0.png"] == "edit 79"


def test_two_processes_may_edit_and_tidy_up(index: Path) -> None:
    mine, theirs = str(index.parent / "photos" / "1.png"), str(index.parent / "photos" / "2.png")
    other = subprocess.Popen([sys.executable, "-c", EDITOR, str(index), theirs])
    store = open_store(str(index))
    for number in range(20):
        store.edit(mine, f"mine {number}")
    assert other.wait(120) == 0
    time.sleep(1)
    found = captions(open_store(str(index)))
    assert (found["1.png"], found["2.png"]) == ("mine 19", "other 19")


def test_what_lancedb_keeps_in_memory_is_bounded(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its defaults let every edit add 130 kB, up to a gigabyte."""
    import lancedb

    given: list[dict[str, int]] = []
    real = lancedb.Session
    monkeypatch.setattr(lancedb, "Session", lambda **sizes: given.append(sizes) or real(**sizes))
    assert len(open_store(str(index))) == 6
    assert given and sum(given[0].values()) < 1.5e9 and given[0]["metadata_cache_size_bytes"] <= 64e6
