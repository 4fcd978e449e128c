"""The approximate index of a large table in LanceDB."""

from pathlib import Path

import numpy as np
import pytest

from embeds_colours import Colours, paint
from lance_index import fill_lance, make_lance
from tellapart.core.errors import InputError
from tellapart.search.lance import ann
from tellapart.search.lance.lance_store import LanceStore
from tellapart.search.lance.schema import as_table
from tellapart.search.query import Searcher
from tellapart.search.table import About

pytest.importorskip("lancedb", reason="needs LanceDB: pip install tellapart[lance]")


def many(where: Path, rows: int, width: int = 32) -> tuple[LanceStore, np.ndarray]:
    """Vectors in clumps, as images are."""
    random = np.random.default_rng(0)
    vectors = random.standard_normal((50, width))[random.integers(0, 50, rows)]
    vectors = vectors + 0.5 * random.standard_normal((rows, width))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
    store = make_lance(where, About("many", "many", "", width))
    made = [{"path": f"/p/{row}", "vector": vectors[row]} for row in range(rows)]
    store.add(as_table(made, store.schema(), width))
    return store, vectors.astype(np.float32)


def test_a_large_table_gets_an_approximate_index_that_is_measured(tmp_path: Path) -> None:
    """Small limits stand for large ones; recall is what a count by hand says; new rows are found before a rebuild."""
    store, vectors = many(tmp_path / "index", 6000)
    assert ann.build_if_large(store, vectors[:5], exact_below=6001) is None and ann.built(store) is None
    queries = ann.sample_queries(store, lambda captions: np.zeros((0, 32), np.float32), 20)
    assert queries.shape == (20, 32)
    made = ann.build_if_large(store, queries, exact_below=6000)
    assert made is not None and made.recall >= 0.95 and made == ann.built(store)
    ids = ann.exact_neighbours(store, vectors[:4], 5)
    truth = np.argsort(-(vectors[:4] @ vectors.T), axis=1)[:, :5]
    assert np.stack(ids).tolist() == truth.tolist()  # a table written at once numbers its rows from 0
    hits = 0
    for row in range(20):
        truth = {f"/p/{place}" for place in np.argsort(-(vectors @ vectors[row]))[:10]}
        hits += len(truth & {one.path for one in Searcher(store).nearest(vectors[row], 10)})
    assert hits / 200 >= 0.9
    assert ann.build_if_large(store, queries, exact_below=6000) is None
    for name, put in (("/p/later", store.add), ("/p/7", store.put)):
        put(as_table([{"path": name, "vector": vectors[7]}], store.schema(), 32))
        assert {"/p/7", name} <= {one.path for one in Searcher(store).nearest(vectors[7], 5)}
    store.compact()
    assert ann.built(store) == made and "/p/later" in {one.path for one in Searcher(store).nearest(vectors[7], 5)}
    store.delete(["/p/later"])
    exact = Searcher(store).nearest(vectors[0], 10, exact=True)
    assert {one.path for one in exact} == {f"/p/{place}" for place in np.argsort(-(vectors @ vectors[0]))[:10]}


def test_captions_in_words_the_matcher_does_not_know_are_no_questions(tmp_path: Path) -> None:
    """A captioner of another language must not stop an index run when all is done."""
    for name, colour in (("red", (250, 0, 0)), ("green", (0, 250, 0)), ("blue", (0, 0, 250)), ("x", (250, 250, 0))):
        paint(tmp_path / "photos" / f"{name}.png", colour)
    photos, _ = fill_lance(tmp_path / "index", Colours(), tmp_path / "photos")

    def words(captions: list[str]) -> np.ndarray:
        if captions != ["blue"]:
            raise InputError("No word is known")
        return np.ones((1, 3), np.float32)

    assert ann.sample_queries(photos, words).shape == (5, 3)  # four images, and the caption of the blue one
