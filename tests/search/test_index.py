"""An index follows its folders: nothing is encoded twice, nothing is lost, and a kill costs one chunk at most."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from embeds_colours import Colours, fill, paint
from forbidden import forbid
from index_rows import all_rows
from tellapart.core.errors import InputError
from tellapart.images.folders import file_inside
from tellapart.search.changes import Changes
from tellapart.search.protocol import Store
from tellapart.search.sqlite.sqlite_store import SqliteStore
from tellapart.search.store import open_store


def facts(store: Store) -> dict[str, dict[str, object]]:
    rows = all_rows(store)
    assert len({row["path"] for row in rows}) == len(rows)
    return {Path(row["path"]).name: row for row in rows}


def test_new_changed_touched_moved_copied_and_deleted(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    for step in range(10):
        paint(photos / f"{step}.png", (250 - step, step, 0))
    store, changes = fill(tmp_path / "index", Colours(), photos)
    assert (changes.added, len(store)) == (10, 10)
    store.edit(str(photos / "5.png"), "mine")

    _, changes = fill(tmp_path / "index", nothing := Colours(), photos)
    assert nothing.looked == [] and changes == Changes(unchanged=10)

    paint(photos / "0.png", (0, 0, 200))  # changed
    os.utime(photos / "1.png", ns=(1, 1))  # touched
    (photos / "sub").mkdir()
    (photos / "5.png").rename(photos / "sub" / "moved.png")
    (photos / "copy.png").write_bytes((photos / "6.png").read_bytes())
    (photos / "7.png").unlink()
    paint(photos / "new.png", (0, 99, 0))
    store, changes = fill(tmp_path / "index", colours := Colours(), photos)
    assert sorted(colours.looked) == ["0.png", "new.png"]
    assert changes == Changes(unchanged=6, added=1, changed=1, carried=3, deleted=2)
    found = facts(store)
    assert set(found) == {*(f"{n}.png" for n in (0, 1, 2, 3, 4, 6, 8, 9)), "moved.png", "copy.png", "new.png"}
    assert found["moved.png"]["edited"] == "mine" and found["0.png"]["caption"] == "blue"
    assert found["copy.png"]["vector"] == found["6.png"]["vector"]
    assert found["1.png"]["modified"] == 1


def test_files_that_swap_places_in_different_chunks_are_encoded(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    paint(photos / "a.png", (200, 0, 0)), paint(photos / "b.png", (0, 0, 200))
    fill(tmp_path / "index", Colours(), photos)
    (photos / "a.png").rename(tmp_path / "x"), (photos / "b.png").rename(photos / "a.png")
    (tmp_path / "x").rename(photos / "b.png")
    for name in "ab":
        os.utime(photos / f"{name}.png")
    store, changes = fill(tmp_path / "index", Colours(), photos, chunk=1)
    found = facts(store)
    assert (found["a.png"]["caption"], found["b.png"]["caption"]) == ("blue", "red")
    assert changes.deleted == 0


def test_several_folders_and_folders_in_folders(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    paint(one / "a.png", (9, 0, 0)), paint(one / "deep" / "b.png", (0, 9, 0)), paint(two / "c.png", (0, 0, 9))
    store, changes = fill(tmp_path / "index", Colours(), one / "deep", one)
    assert changes.added == 2
    store, changes = fill(tmp_path / "index", Colours(), two)
    assert (changes.added, changes.deleted, len(store)) == (1, 0, 3)
    (one / "deep" / "b.png").unlink()
    paint(one / "deep" / "d.png", (1, 2, 3))
    store, changes = fill(tmp_path / "index", Colours(), one / "deep")
    assert changes.deleted == 1 and set(facts(store)) == {"a.png", "c.png", "d.png"}


def test_broken_files_are_named_and_links_out_are_not_followed(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    paint(photos / "good.png", (9, 0, 0))
    (photos / "broken.png").write_bytes(b"not an image")
    (photos / "out.png").symlink_to(paint(tmp_path / "secret.png", (0, 9, 0)))
    store, changes = fill(tmp_path / "index", Colours(), photos)
    assert set(facts(store)) == {"good.png"}
    assert len(changes.faults) == 2 and any("links out of" in fault for fault in changes.faults)
    (photos / "good.png").unlink()
    (photos / "good.png").symlink_to(tmp_path / "secret.png")
    row = store.row(str(photos / "good.png"))
    assert row is not None and file_inside(row["path"], row["folder"]) is None and store.row("/etc/passwd") is None


def test_measures_and_dates_are_as_a_viewer_shows_them(tmp_path: Path) -> None:
    paint(tmp_path / "photos" / "a.jpg", (9, 0, 0), "2019:07:21 18:04:33", orientation=6)
    store, _ = fill(tmp_path / "index", Colours(), tmp_path / "photos")
    row = facts(store)["a.jpg"]
    assert (row["width"], row["height"]) == (24, 40) and str(row["taken"]) == "2019-07-21 18:04:33"


def test_an_emptied_folder_is_asked_about(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    paint(photos / "a.png", (9, 0, 0))
    fill(tmp_path / "index", Colours(), photos)
    (photos / "a.png").unlink()
    with pytest.raises(InputError, match="forget=True"):
        fill(tmp_path / "index", Colours(), photos)
    store, changes = fill(tmp_path / "index", Colours(), photos, forget=True)
    assert changes.deleted == 1 and len(store) == 0


def test_what_cannot_be_read_for_now_is_not_held_to_be_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing right or a failing disk must not cost what people wrote."""
    photos = tmp_path / "photos"
    for step, name in enumerate(("a.png", "b.png", "deep/c.png", "deep/er/d.png", "gone.png")):
        paint(photos / name, (9 + step, 0, 0))
    store, _ = fill(tmp_path / "index", Colours(), photos)
    store.edit(str(photos / "deep" / "er" / "d.png"), "mine")
    (photos / "gone.png").unlink()
    with monkeypatch.context() as patch:
        forbid(photos / "deep", patch)
        forbid(photos / "b.png", patch)
        store, changes = fill(tmp_path / "index", Colours(), photos)
    assert set(facts(store)) == {"a.png", "b.png", "c.png", "d.png"}
    assert changes.deleted == 1 and facts(store)["d.png"]["edited"] == "mine"
    assert sorted(fault.split("; ")[0] for fault in changes.faults) == [
        f"{photos / name} cannot be read (Permission denied)" for name in ("b.png", "deep")
    ]
    store, changes = fill(tmp_path / "index", Colours(), photos)
    assert changes == Changes(unchanged=4)


def test_what_is_written_while_a_chunk_is_kept_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between reading what a row has and writing it again, someone edits the captions of all photos."""
    photos = tmp_path / "photos"
    for step, name in enumerate(("changed", "touched", "moved", "copied", "alone")):
        paint(photos / f"{name}.png", (9 + step, 0, 0))
    store, _ = fill(tmp_path / "index", Colours(), photos)
    store.edit(str(photos / "alone.png"), "before")
    paint(photos / "changed.png", (0, 0, 200))
    os.utime(photos / "touched.png", ns=(1, 1))
    (photos / "moved.png").rename(photos / "away.png")
    (photos / "copy.png").write_bytes((photos / "copied.png").read_bytes())
    real = SqliteStore.write

    def write(index: SqliteStore, *rows: Any) -> None:
        other = open_store(str(tmp_path / "index"))
        for row in list(facts(other).values()):
            other.edit_copies(str(row["content"]), f"new of {Path(str(row['path'])).stem}")
        real(index, *rows)

    monkeypatch.setattr(SqliteStore, "write", write)
    store, changes = fill(tmp_path / "index", Colours(), photos, chunk=100)
    assert (changes.changed, changes.carried, changes.deleted) == (1, 3, 1)
    said = {name: row["edited"] for name, row in facts(store).items()}
    assert said == {
        "changed.png": "new of changed", "touched.png": "new of touched", "away.png": "new of moved",
        "copied.png": "new of copied", "copy.png": "new of copied", "alone.png": "new of alone",
    }  # fmt: skip


def test_what_is_written_last_wins_over_what_is_carried_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Edited once before a copy's row is written, and again after it."""
    photos = tmp_path / "photos"
    paint(photos / "a.png", (9, 0, 0))
    store, _ = fill(tmp_path / "index", Colours(), photos)
    (photos / "copy.png").write_bytes((photos / "a.png").read_bytes())
    content = str(facts(store)["a.png"]["content"])
    write = SqliteStore.write

    def edited(words: str) -> None:
        open_store(str(tmp_path / "index")).edit_copies(content, words)

    monkeypatch.setattr(SqliteStore, "write", lambda *given: (edited("first"), write(*given), edited("second")))
    store, _ = fill(tmp_path / "index", Colours(), photos)
    assert {row["edited"] for row in facts(store).values()} == {"second"}


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No index at"):
        open_store(str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="is not a folder"):
        fill(tmp_path / "index", Colours(), tmp_path / "nowhere")
    with pytest.raises(InputError, match="another version"):
        fill(tmp_path / "index", Colours(fingerprint="other"), tmp_path)
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(InputError, match=r"No index can be at .*file .File exists"):
        fill(tmp_path / "file", Colours(), tmp_path)
    (tmp_path / "strange").mkdir()
    with contextlib.closing(sqlite3.connect(tmp_path / "strange" / "photos.sqlite")) as strange:
        strange.execute("CREATE TABLE other (path TEXT)")
    with pytest.raises(InputError, match="is not an index of tellapart"):
        open_store(str(tmp_path / "strange"))
    with pytest.raises(InputError, match="is not in the index"):
        open_store(str(tmp_path / "index")).edit("/etc/passwd", "words")


SLOW_FILL = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from embeds_colours import Colours, fill
fill(Path(sys.argv[1]), Colours(Path(sys.argv[3]), slow=0.02), Path(sys.argv[2]), chunk=5)
"""


def test_a_kill_loses_nothing_and_repeats_at_most_a_chunk(tmp_path: Path) -> None:
    """Killed (SIGKILL) after some chunks, twice; every photo committed before a kill is encoded once."""
    photos, log, index = tmp_path / "photos", tmp_path / "log", tmp_path / "index"
    for step in range(40):
        paint(photos / f"{step:02}.png", (step + 1, 200 - step, 7))
    call = [sys.executable, "-c", SLOW_FILL, *map(str, (index, photos, log, Path(__file__).parents[1]))]
    committed: set[str] = set()
    for wanted in (12, 27):
        process = subprocess.Popen(call)
        deadline = time.monotonic() + 60
        while not (log.is_file() and len(log.read_text().split()) >= wanted) and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = set(facts(open_store(str(index))))
        assert committed <= kept and len(kept) % 5 == 0 and kept
        committed = kept
    looked_before = log.read_text().split()
    store, changes = fill(index, colours := Colours(), photos, chunk=5)
    assert len(facts(store)) == 40 and changes.added == 40 - len(committed)
    assert not set(colours.looked) & committed
    assert len(looked_before) - len(committed) <= 2 * 5
