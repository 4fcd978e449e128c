"""Opening an index whose newest versions did not reach the disk, or whose saved version is gone."""

from pathlib import Path

import pytest

from embeds_colours import Colours, paint
from lance_index import fill_lance
from tellapart.core.errors import InputError
from tellapart.search.lance.saved import SAVED, Saved, manifests
from tellapart.search.store import open_store

pytest.importorskip("lancedb", reason="an index needs LanceDB: pip install tellapart[search]")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    for number in range(5):
        paint(tmp_path / "photos" / f"{number}.png", (40 * number, 9, 0))
    store, _ = fill_lance(tmp_path / "index", Colours(), tmp_path / "photos")
    store.edit(str(tmp_path / "photos" / "1.png"), "saved")
    return tmp_path / "index"


def edited(index: Path) -> set[str]:
    rows = open_store(str(index)).table.search().to_arrow().to_pylist()
    assert len(rows) == 5
    return {row["edited"] for row in rows} - {None}


def unsaved_edit(index: Path) -> None:
    open_store(str(index)).table.update(where="path LIKE '%2.png'", values={"edited": "not saved"})


def test_a_change_that_a_kill_interrupted_stays(index: Path) -> None:
    unsaved_edit(index)
    assert edited(index) == {"saved", "not saved"}


@pytest.mark.parametrize("damage", ["empty", "zeros", "gone"])
@pytest.mark.parametrize("part", ["data", "_versions", "_deletions"])
def test_a_damaged_change_is_undone(index: Path, damage: str, part: str) -> None:
    saved = Saved(str(index)).read()
    assert saved is not None
    unsaved_edit(index)
    new = [path for path in (index / "pictures.lance" / part).glob("[0-9]*")]
    for path in new:
        if path.relative_to(index).as_posix() not in saved.files:
            size = path.stat().st_size
            path.unlink() if damage == "gone" else path.write_bytes(bytes(size if damage == "zeros" else 0))
    assert edited(index) == {"saved"}
    assert max(manifests(index)) == saved.versions["pictures"]
    open_store(str(index)).edit(str(index.parent / "photos" / "1.png"), "again")
    assert edited(index) == {"again"}


def test_a_saved_version_that_is_gone_is_an_error(index: Path) -> None:
    max(manifests(index).items())[1].unlink()
    with pytest.raises(InputError, match="what was saved last is missing"):
        open_store(str(index))
    (index / SAVED).unlink()
    assert edited(index) <= {"saved"}


def test_an_index_of_an_earlier_version_opens(index: Path) -> None:
    (index / SAVED).unlink()
    assert edited(index) == {"saved"}
    open_store(str(index)).edit(str(index.parent / "photos" / "1.png"), "again")
    saved = Saved(str(index)).read()
    assert saved is not None and saved.versions["pictures"] == max(manifests(index)) and len(saved.files) > 5
