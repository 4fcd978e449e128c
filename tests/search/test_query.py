"""Asking an index: exact answers, arithmetic of words and images, filters, sheets."""

import datetime
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from embeds_colours import Colours, fill, paint
from tellapart.core.errors import InputError
from tellapart.report.sheet import write_sheet
from tellapart.search import query
from tellapart.search.filters import Filters
from tellapart.search.protocol import Store
from tellapart.search.query import Found, Searcher, combined
from tellapart.search.sqlite import sqlite_store
from tellapart.search.store import open_or_make
from tellapart.search.table import About


@pytest.fixture
def photos(tmp_path: Path) -> Store:
    """red (2018), green (2019) and blue (no date) photos, and a yellow one in a separate folder."""
    folder = tmp_path / "photos"
    paint(folder / "red.jpg", (250, 0, 0), "2018:01:01 10:00:00")
    paint(folder / "green.jpg", (0, 250, 0), "2019:06:01 00:00:00")
    paint(folder / "blue.jpg", (0, 0, 250))
    paint(folder / "it's" / "yellow.jpg", (250, 250, 0), "2020:01:01 10:00:00")
    return fill(tmp_path / "index", Colours(), folder)[0]


def names(found: list[Found]) -> list[str]:
    return [Path(one.path).stem for one in found]


@pytest.mark.parametrize("in_memory", [True, False])
def test_words_images_and_filters(photos: Store, in_memory: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to search exactly give the same answers."""
    if not in_memory:
        monkeypatch.setattr(query, "IN_MEMORY", 0)
    searcher = Searcher(photos)
    red, green, blue = Colours().embed_texts(["red", "green", "blue"])
    found = searcher.nearest(red, 2)
    assert names(found) == ["red", "yellow"] and found[0].score == pytest.approx(1, abs=1e-3)
    assert found[0].caption == "red" and (found[0].width, found[0].height) == (40, 24)
    assert names(searcher.nearest(combined([red, green]), 1)) == ["yellow"]
    yellow = combined([red, green])
    assert names(searcher.nearest(combined([yellow], [green]), 1)) == ["red"]
    assert len(searcher.nearest(red, 99)) == 4
    folder = str(Path(found[0].path).parent / "it's")
    assert names(searcher.nearest(blue, 9, Filters(folder=folder))) == ["yellow"]
    assert names(searcher.nearest(blue, 9, Filters(after=datetime.date(2019, 6, 1)))) == ["green", "yellow"]
    dated = searcher.nearest(green, 9, Filters(after=datetime.date(2018, 1, 2), before=datetime.date(2020, 1, 1)))
    assert names(dated) == ["green"]
    assert searcher.nearest(red, 9, Filters(folder="/nowhere")) == []


def test_an_open_searcher_sees_changes(photos: Store) -> None:
    searcher = Searcher(photos)
    red = Colours().embed_texts(["red"])[0]
    path = searcher.nearest(red, 1)[0].path
    photos.edit(path, "a red thing")
    assert searcher.nearest(red, 1)[0].caption == "a red thing"
    photos.edit(path, None)
    assert searcher.nearest(red, 1)[0].caption == "red"
    photos.delete([path])
    assert names(searcher.nearest(red, 1)) == ["yellow"]


def test_a_query_that_cancels_out_raises() -> None:
    with pytest.raises(InputError, match="cancels out"):
        combined([np.ones(3)], [np.ones(3)])
    with pytest.raises(InputError, match="Nothing to search for"):
        combined([], [np.ones(3)])


def many(where: Path, rows: int, width: int = 32) -> tuple[Store, np.ndarray]:
    """Vectors in clumps, as images are."""
    random = np.random.default_rng(0)
    vectors = random.standard_normal((50, width))[random.integers(0, 50, rows)]
    vectors = vectors + 0.5 * random.standard_normal((rows, width))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
    store = open_or_make(str(where), About("many", "many", "", width))
    made = [{"path": f"/p/{row}", "content": f"{row:032x}", "vector": vectors[row]} for row in range(rows)]
    store.write(made, [], {})
    return store, vectors.astype(np.float32)


def test_exact_search_is_a_sort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the plain sort of all cosines, with all vectors in memory and with pages of them."""
    store, vectors = many(tmp_path / "index", 500)
    for row in (3, 77):
        truth = np.argsort(-(vectors @ vectors[row]), kind="stable")[:10]
        assert [one.path for one in Searcher(store).nearest(vectors[row], 10)] == [f"/p/{place}" for place in truth]
        monkeypatch.setattr(query, "IN_MEMORY", 0)
        monkeypatch.setattr(sqlite_store, "PAGE_OF_ROWS", 64)
        assert [one.path for one in Searcher(store).nearest(vectors[row], 10)] == [f"/p/{place}" for place in truth]


def test_sheets(photos: Store, tmp_path: Path) -> None:
    found = Searcher(photos).nearest(Colours().embed_texts(["red"])[0], 4)
    Path(found[1].path).unlink()  # gone since it was indexed: left out
    write_sheet(found, "red <things>", tmp_path / "sheet.png")
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.width > 1000
    write_sheet(found, "red <things>", tmp_path / "sheet.html")
    text = (tmp_path / "sheet.html").read_text()
    assert text.count("<figure") == 3 and "red &lt;things&gt;" in text
    with pytest.raises(InputError, match=r"\.png or \.html"):
        write_sheet(found, "", tmp_path / "sheet.pdf")
