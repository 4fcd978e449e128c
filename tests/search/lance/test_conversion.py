"""An index of an earlier version becomes one in SQLite with everything that it held, whatever interrupts that."""

from pathlib import Path

import pytest

from embeds_colours import Colours, fill, paint
from index_rows import by_name
from lance_index import fill_lance
from tellapart.core.errors import InputError
from tellapart.search.check_path import check_path
from tellapart.search.lance import conversion
from tellapart.search.lance.conversion import convert
from tellapart.search.sqlite.sqlite_store import SqliteStore
from tellapart.search.store import open_store

pytest.importorskip("lancedb", reason="needs LanceDB: pip install tellapart[lance]")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    for step in range(5):
        paint(tmp_path / "photos" / f"{step}.png", (250 - step, step, 0), "2019:07:21 18:04:33" if step % 2 else "")
    store, _ = fill_lance(tmp_path / "index", Colours(), tmp_path / "photos")
    store.edit(str(tmp_path / "photos" / "2.png"), "first")
    store.edit(str(tmp_path / "photos" / "2.png"), "it's mine")
    return tmp_path / "index"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".lock", ".update.json"}


def test_everything_is_moved(old: Path) -> None:
    before = by_name(open_store(str(old)))
    content = before["2.png"]["content"]
    edits = open_store(str(old)).history(content, [])
    assert convert(str(old)) == 5 and convert(str(old)) == 0
    store = open_store(str(old))
    assert isinstance(store, SqliteStore) and by_name(store) == before and store.history(content, []) == edits
    assert names(old) == {"photos.sqlite"} and not check_path(str(old)).problems
    _, changes = fill(old, colours := Colours(), old.parent / "photos")
    assert changes.unchanged == 5 and not colours.looked


def test_a_kill_leaves_the_old_index_or_the_new_one(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def kill(*given: object) -> None:
        raise Killed

    for step in ("os.replace", "tellapart.search.lance.conversion._remove_tables"):
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(step, kill)
            convert(str(old))
        assert by_name(open_store(str(old)))["2.png"]["edited"] == "it's mine"
    convert(str(old))
    assert names(old) == {"photos.sqlite"}


def test_a_caption_that_is_edited_meanwhile_is_moved_too(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, editor, photo = conversion._copy, open_store(str(old)), str(old.parent / "photos" / "3.png")
    edits = iter(["meanwhile"])

    def copy(*given: object) -> int:
        photos = real(*given)  # type: ignore[arg-type]
        for caption in edits:
            editor.edit(photo, caption)
        return photos

    monkeypatch.setattr(conversion, "_copy", copy)
    assert convert(str(old)) == 5
    assert by_name(open_store(str(old)))["3.png"]["edited"] == "meanwhile"


def test_an_old_index_without_lancedb_says_what_to_install(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "lancedb", None)
    for use in (open_store, convert):
        with pytest.raises(InputError, match=r"earlier version needs LanceDB; run `pip install 'tellapart\[lance\]'`"):
            use(str(old))
