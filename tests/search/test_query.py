"""Asking an index: exact and approximate answers, arithmetic of words and images, filters, sheets."""

import datetime
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from embeds_colours import Colours, fill, paint
from tellapart.core.errors import InputError
from tellapart.report.sheet import write_sheet
from tellapart.search import ann, query
from tellapart.search.filters import Filters
from tellapart.search.query import Found, Searcher, combined
from tellapart.search.store import Store, open_or_make
from tellapart.search.table import About

pa = pytest.importorskip("pyarrow", reason="an index needs LanceDB: pip install tellapart[search]")
pytest.importorskip("lancedb", reason="an index needs LanceDB: pip install tellapart[search]")


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
    columns = {name: pa.nulls(rows, store.schema().field(name).type) for name in store.schema().names}
    columns["path"] = pa.array([f"/p/{row}" for row in range(rows)])
    columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), width)
    store.add(pa.table(columns, schema=store.schema()))
    return store, vectors.astype(np.float32)


def test_exact_search_is_a_sort(tmp_path: Path) -> None:
    """Against the plain sort of all cosines."""
    store, vectors = many(tmp_path / "index", 500)
    for row in (3, 77):
        truth = np.argsort(-(vectors @ vectors[row]), kind="stable")[:10]
        assert [one.path for one in Searcher(store).nearest(vectors[row], 10)] == [f"/p/{place}" for place in truth]
    ids = ann.exact_neighbours(store, vectors[:4], 5)
    truth = np.argsort(-(vectors[:4] @ vectors.T), axis=1)[:, :5]
    assert np.stack(ids).tolist() == truth.tolist()  # a table written at once numbers its rows from 0


def test_a_large_table_gets_an_approximate_index_that_is_measured(tmp_path: Path) -> None:
    """Small limits stand for large ones; recall is what a count by hand says; new rows are found before a rebuild."""
    store, vectors = many(tmp_path / "index", 6000)
    assert ann.build_if_large(store, vectors[:5], exact_below=6001) is None and ann.built(store) is None
    queries = ann.sample_queries(store, lambda captions: np.zeros((0, 32), np.float32), 20)
    assert queries.shape == (20, 32)
    made = ann.build_if_large(store, queries, exact_below=6000)
    assert made is not None and made.recall >= 0.95 and made == ann.built(store)
    hits = 0
    for row in range(20):
        truth = {f"/p/{place}" for place in np.argsort(-(vectors @ vectors[row]))[:10]}
        hits += len(truth & {one.path for one in Searcher(store).nearest(vectors[row], 10)})
    assert hits / 200 >= 0.9
    assert ann.build_if_large(store, queries, exact_below=6000) is None
    row = store.table.search().where("path = '/p/7'").to_arrow()
    for name, put in (("/p/later", store.add), ("/p/7", store.put)):
        put(row.set_column(0, "path", pa.array([name])).cast(store.schema()))
        assert {"/p/7", name} <= {one.path for one in Searcher(store).nearest(vectors[7], 5)}
    store.compact()
    assert ann.built(store) == made and "/p/later" in {one.path for one in Searcher(store).nearest(vectors[7], 5)}
    store.delete(["/p/later"])
    exact = Searcher(store).nearest(vectors[0], 10, exact=True)
    assert {one.path for one in exact} == {f"/p/{place}" for place in np.argsort(-(vectors @ vectors[0]))[:10]}


def test_captions_in_words_the_matcher_does_not_know_are_no_questions(photos: Store) -> None:
    """A captioner of another language must not stop an index run when all is done."""

    def words(captions: list[str]) -> np.ndarray:
        if captions != ["blue"]:
            raise InputError("No word is known")
        return np.ones((1, 3), np.float32)

    assert ann.sample_queries(photos, words).shape == (5, 3)  # four images, and the caption of the blue one


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
