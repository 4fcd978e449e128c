"""Index folders with one damaged file: read, or rejected in a sentence; never a traceback or a panic of a library."""

import shutil
from pathlib import Path

import pytest

from embeds_colours import Colours, fill, paint
from mutations import damage
from tellapart.core.errors import Error
from tellapart.search.known import read_known
from tellapart.search.query import Searcher
from tellapart.search.store import open_store


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    for step in range(6):
        paint(folder / "photos" / f"{step}.png", (40 * step, 9, 0))
    store, _ = fill(folder / "index", Colours(), folder / "photos")
    store.edit(str(folder / "photos" / "3.png"), "mine")
    return folder / "index"


def test_every_damaged_file_is_read_or_rejected(index: Path, tmp_path: Path) -> None:
    names = sorted(path.relative_to(index) for path in index.rglob("*") if path.is_file())
    rejected = 0
    for number, name in enumerate(names):
        for seed in range(40 if name.suffix == ".sqlite" else 3):
            copy = tmp_path / f"{number}-{seed}"
            shutil.copytree(index, copy)
            damage(copy / name, (index / name).read_bytes(), seed)
            try:
                store = open_store(str(copy))
                len(store), read_known(store), store.folders()
                Searcher(store).nearest(Colours().embed_texts(["red"])[0], 3)
                store.edit(next(store.rows(["path"]))["path"], "new")
            except Error as error:
                rejected += 1
                assert str(copy) in str(error)
            shutil.rmtree(copy)
    assert rejected
