"""Many edits by several processes and threads: none is lost, readers are never in their way, one file is left."""

import os
import subprocess
import sys
import threading
from pathlib import Path

from embeds_colours import Colours, fill, paint
from index_rows import by_name
from tellapart.search.check_path import check_path
from tellapart.search.store import open_store

EDITOR = """
import sys
from tellapart.search.store import open_store
store = open_store(sys.argv[1])
for number in range(30):
    store.edit(sys.argv[2], f"other {number}")
"""


def test_edits_of_two_processes_beside_readers_and_an_update(tmp_path: Path) -> None:
    photos, index = tmp_path / "photos", tmp_path / "index"
    for number in range(12):
        paint(photos / f"{number}.png", (20 * number, 9, 0))
    store, _ = fill(index, Colours(), photos)
    other = subprocess.Popen([sys.executable, "-c", EDITOR, str(index), str(photos / "2.png")])
    stop, errors = threading.Event(), []

    def read() -> None:
        try:
            while not stop.is_set():
                assert len(by_name(open_store(str(index)))) >= 12
        except BaseException as error:
            errors.append(error)

    def update() -> None:
        for number in range(12, 18):
            paint(photos / f"{number}.png", (9, 9 * number, 0))
            fill(index, Colours(), photos, chunk=2)

    threads = [threading.Thread(target=work) for work in (read, read, update)]
    for thread in threads:
        thread.start()
    for number in range(30):
        store.edit(str(photos / "1.png"), f"mine {number}")
    threads[-1].join()
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors and other.wait(120) == 0
    found = by_name(open_store(str(index)))
    assert (found["1.png"]["edited"], found["2.png"]["edited"], len(found)) == ("mine 29", "other 29", 18)
    for name in ("1.png", "2.png"):
        edits = store.history(found[name]["content"], [])
        assert [edit.caption for edit in edits] == [f"{edits[0].caption.split()[0]} {n}" for n in range(30)]  # type: ignore[union-attr]
    assert set(os.listdir(index)) == {"photos.sqlite", ".lock", ".update.json"}
    assert not check_path(str(index)).problems


def test_the_space_of_deleted_photos_is_given_back(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    paint(photos / "a.png", (9, 0, 0))
    store, _ = fill(tmp_path / "index", Colours(), photos)
    row = {**by_name(store)["a.png"], "caption": "word " * 2000}
    store.write([{**row, "path": f"/p/{number}"} for number in range(2000)], [], {})
    large = (tmp_path / "index" / "photos.sqlite").stat().st_size
    store.delete([f"/p/{number}" for number in range(2000)])
    store.compact()
    assert (tmp_path / "index" / "photos.sqlite").stat().st_size < large / 4 and len(store) == 1
    assert not check_path(store.where).problems
