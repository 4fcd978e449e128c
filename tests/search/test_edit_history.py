"""The captions that people saved: kept across copies and new bytes, and one with the edit."""

from pathlib import Path

import pytest

from embeds_colours import Colours, fill, paint
from tellapart.search.sqlite import writing
from tellapart.search.store import open_store
from tellapart.search.table_errors import UnwritableIndex


def captions(where: Path, path: Path) -> list[str | None]:
    store = open_store(str(where))
    row = store.row(str(path))
    assert row is not None
    return [edit.caption for edit in store.history(row["content"], [str(path)])]


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
    store.compact()
    assert captions(tmp_path / "index", photo) == [f"caption {number}" for number in range(8)]


def test_an_edit_and_its_history_are_one_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    photo = paint(tmp_path / "photos" / "red.png", (200, 0, 0))
    store, _ = fill(tmp_path / "index", Colours(), tmp_path / "photos")

    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(UnwritableIndex):
        patch.setattr(writing, "remember", full)
        store.edit(str(photo), "mine")
    row = store.row(str(photo))
    assert row is not None and row["edited"] is None and captions(tmp_path / "index", photo) == []
    store.edit(str(photo), "mine")
    assert captions(tmp_path / "index", photo) == ["mine"]
