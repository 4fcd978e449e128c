"""The captions that people saved: kept across copies, new bytes and compaction, and never in the way of an edit."""

import datetime
from pathlib import Path

from embeds_colours import Colours, fill, paint
from tellapart.search.edit_history import EditHistory
from tellapart.search.store import open_store


def captions(where: Path, path: Path) -> list[str | None]:
    store = open_store(str(where))
    row = store.row(str(path))
    assert row is not None
    return [edit.caption for edit in store.history.of(row["content"], [str(path)])]


def test_edits_by_file_and_by_content(tmp_path: Path) -> None:
    photo = paint(tmp_path / "photos" / "red.png", (200, 0, 0))
    other = paint(tmp_path / "photos" / "blue.png", (0, 0, 200))
    where = tmp_path / "index"
    store, _ = fill(where, Colours(), tmp_path / "photos")
    assert captions(where, photo) == []
    store.edit(str(photo), "it's mine")
    row = store.row(str(photo))
    assert row is not None
    store.edit_copies(row["content"], "ours")
    store.edit_copies(row["content"], "ours")  # which changes nothing
    assert captions(where, photo) == ["it's mine", "ours"] and captions(where, other) == []
    # A copy has the same history, and a file with new bytes keeps its own.
    copy = tmp_path / "photos" / "copy.png"
    copy.write_bytes(photo.read_bytes())
    paint(photo, (180, 20, 0))
    fill(where, Colours(), tmp_path / "photos")
    assert captions(where, copy) == captions(where, photo) == ["it's mine", "ours"]


def test_many_edits_are_compacted_and_kept(tmp_path: Path) -> None:
    photo = paint(tmp_path / "photos" / "red.png", (200, 0, 0))
    store, _ = fill(tmp_path / "index", Colours(), tmp_path / "photos")
    for number in range(8):
        store.edit(str(photo), f"caption {number}")
    store.history.compact(datetime.timedelta(0))
    assert captions(tmp_path / "index", photo) == [f"caption {number}" for number in range(8)]


def test_a_history_that_cannot_be_written_does_not_hinder_an_edit(tmp_path: Path) -> None:
    photo = paint(tmp_path / "photos" / "red.png", (200, 0, 0))
    store, _ = fill(tmp_path / "index", Colours(), tmp_path / "photos")

    class Full:
        def create_table(self, *arguments: object, **options: object) -> None:
            raise OSError(28, "No space left on device")

    store.history = EditHistory(store.where, Full())
    store.edit(str(photo), "mine")
    row = store.row(str(photo))
    assert row is not None and row["edited"] == "mine" and captions(tmp_path / "index", photo) == []
