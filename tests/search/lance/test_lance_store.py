"""An index in LanceDB, forced to a local path: as one on object storage, and as those of earlier versions."""

import os
from pathlib import Path

import numpy as np
import pytest

from embeds_colours import Colours, fill, paint
from index_rows import by_name
from lance_index import fill_lance
from tellapart.core.errors import InputError
from tellapart.search import query
from tellapart.search.answer import Query, answer
from tellapart.search.changes import Changes
from tellapart.search.check_path import check_path
from tellapart.search.edits import edits_of, import_edits
from tellapart.search.filters import Filters, Place
from tellapart.search.lance.lance_store import LanceStore
from tellapart.search.lance.schema import LATER
from tellapart.search.query import Searcher
from tellapart.search.store import open_store
from tellapart.search.table import CAPTIONS
from tellapart.serve.newest import NewestPhotos

lancedb = pytest.importorskip("lancedb", reason="needs LanceDB: pip install tellapart[lance]")

RED = np.asarray([1.0, 0, 0], np.float32)


@pytest.fixture
def photos(tmp_path: Path) -> LanceStore:
    for step in range(4):
        paint(tmp_path / "photos" / f"{step}.png", (250 - 60 * step, step, 60 * step))
    return fill_lance(tmp_path / "index", Colours(), tmp_path / "photos")[0]


def test_an_index_follows_its_folder_and_is_searched(photos: LanceStore, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    photos.edit(str(folder / "1.png"), "Whiskers, our grumpy calico")
    (folder / "copy.png").write_bytes((folder / "1.png").read_bytes())
    os.utime(folder / "2.png", ns=(1, 1))
    (folder / "3.png").unlink()
    store, changes = fill(tmp_path / "index", colours := Colours(), folder)
    assert isinstance(store, LanceStore) and not colours.looked
    assert changes == Changes(unchanged=2, carried=2, deleted=1)
    rows = by_name(store)
    assert all(rows["copy.png"][name] == rows["1.png"][name] for name in ("edited", "vector"))
    found = answer(Searcher(store), Query(RED, "whiskers"), 4)
    assert Path(found[0].path).stem in ("1", "copy") and found[0].by_caption
    store.edit_copies(rows["1.png"]["content"], "both")
    assert [edit.caption for edit in store.history(rows["1.png"]["content"], [])][-1] == "both"
    assert [edit.caption for edit in edits_of(store)] == ["both", "both"]
    assert import_edits(store, edits_of(store)).unchanged == 4
    assert len(NewestPhotos(store).ids(9)) == 3
    assert not check_path(store.where).problems


@pytest.mark.parametrize("in_memory", [True, False])
def test_exact_search_with_filters(photos: LanceStore, in_memory: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not in_memory:
        monkeypatch.setattr(query, "IN_MEMORY", 0)
    names = [Path(one.path).stem for one in Searcher(photos).nearest(RED, 9)]
    assert names == ["0", "1", "2", "3"]
    assert len(Searcher(photos).nearest(RED, 9, Filters(orientation="landscape"))) == 4
    assert not Searcher(photos).nearest(RED, 9, Filters(place=Place(1, 2), folder="/it's", camera="x"))


def test_an_index_of_an_earlier_version_opens_and_is_completed_once(photos: LanceStore, tmp_path: Path) -> None:
    path = str(tmp_path / "photos" / "1.png")
    photos.edit(path, "mine")
    photos.table.drop_columns(list(LATER))
    old = open_store(photos.where)
    assert not any(map(old.has, LATER)) and len(Searcher(old).nearest(RED, 9)) == 4
    with pytest.raises(InputError, match="made before indexes stored cameras"):
        Searcher(old).nearest(RED, 9, Filters(camera="canon"))
    with pytest.raises(InputError, match="places"):
        Searcher(old).nearest(RED, 9, Filters(place=Place(1, 2)))
    store, changes = fill(tmp_path / "index", again := Colours(), tmp_path / "photos")
    assert again.looked == [] and (changes.completed, changes.unchanged, changes.carried) == (4, 4, 0)
    row = store.row(path)
    assert row is not None and row["edited"] == "mine"
    assert fill(tmp_path / "index", Colours(), tmp_path / "photos")[1].completed == 0


def test_an_index_without_full_text_indexes_answers_too(photos: LanceStore, tmp_path: Path) -> None:
    photos.edit(str(tmp_path / "photos" / "3.png"), "Whiskers, our grumpy calico")
    for one in list(photos.table.list_indices()):
        photos.table.drop_index(one.name)
    old = open_store(photos.where)
    assert isinstance(old, LanceStore) and not old.table.list_indices()
    assert Path(answer(Searcher(old), Query(RED, "whiskers"), 4)[0].path).stem == "3"
    store, _ = fill(tmp_path / "index", Colours(), tmp_path / "photos")
    assert isinstance(store, LanceStore)
    assert {column for one in store.table.list_indices() for column in one.columns} == set(CAPTIONS)


def test_what_is_not_an_index_is_said(tmp_path: Path) -> None:
    lancedb.connect(tmp_path / "strange").create_table("pictures", [{"path": "a"}])
    with pytest.raises(InputError, match="is not an index of tellapart"):
        open_store(str(tmp_path / "strange"))


@pytest.mark.parametrize("conflicts", [2, 1000])
def test_captions_edited_meanwhile_do_not_break_an_index_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, conflicts: int
) -> None:
    """Joining pieces gives way to another's writing: it is tried again, and put off where that does not help."""
    photos, tries = tmp_path / "photos", []
    paint(photos / "a.png", (9, 0, 0))
    store, _ = fill_lance(tmp_path / "index", Colours(), photos)
    real = type(store.table).optimize

    def disturbed(table: object, **options: object) -> object:
        tries.append(1)
        if len(tries) <= conflicts:
            raise RuntimeError(
                "lance error: Retryable commit conflict for version 3: preempted by Update. Please retry."
            )
        return real(table, **options)

    monkeypatch.setattr(type(store.table), "optimize", disturbed)
    paint(photos / "b.png", (0, 9, 0))
    store, changes = fill(tmp_path / "index", Colours(), photos)
    assert changes.added == 1 and len(store) == 2 and len(tries) == min(conflicts + 2, 5)
