"""The approximate index of a large table, built when exact search becomes slow, and its measured recall.

IVF with RaBitQ codes: the table is divided into cells, and each vector is stored with one bit per dimension. A search
scans the cells nearest to the query and compares the best rows again by their full vectors. The number of scanned cells
is the smallest that reaches the target recall on sample queries.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.search.protocol import Built

if TYPE_CHECKING:
    from tellapart.search.lance.lance_store import LanceStore

EXACT_BELOW = 50_000
"""Rows; fewer are searched exactly."""
ROWS_PER_CELL = 2_500
MOST_CELLS = 4_096
"""Finding the cell of a row takes time in proportion to their number, so larger tables get larger cells."""
REFINE = 10
"""How many times the requested rows are compared by their full vectors."""
TARGET_RECALL = 0.97
NEIGHBOURS = 10
REBUILD_GROWTH = 2.0
"""The index is rebuilt when the table has grown by this factor; until then new rows join existing cells."""
NPROBES, RECALL, ROWS = "tellapart:nprobes", "tellapart:recall", "tellapart:rows"


def built(store: LanceStore) -> Built | None:
    """The approximate index of a table; None if it has none."""
    facts = store.schema().field("vector").metadata or {}
    if NPROBES.encode() not in facts or not any("vector" in one.columns for one in store.table.list_indices()):
        return None
    return Built(int(facts[NPROBES.encode()]), float(facts[RECALL.encode()]), int(facts[ROWS.encode()]))


def build_if_large(store: LanceStore, queries: np.ndarray, exact_below: int = EXACT_BELOW) -> Built | None:
    """Build the index of a large table, or rebuild it after growth; None if there is nothing to build.

    queries [Q, E], at least two: recall is measured on these.
    """
    rows, there = len(store), built(store)
    if rows < exact_below or (there is not None and rows < REBUILD_GROWTH * there.rows):
        return None
    return build(store, queries)


def build(store: LanceStore, queries: np.ndarray) -> Built:
    """Build the index and choose the number of scanned cells by the recall on `queries` [Q, E]."""
    from lancedb.index import IvfRq

    rows = len(store)
    cells = min(max(2, rows // ROWS_PER_CELL), MOST_CELLS)
    config = IvfRq(distance_type="cosine", num_partitions=cells, max_iterations=15, sample_rate=64)
    store.table.create_index("vector", config=config, replace=True)
    truth = exact_neighbours(store, queries, NEIGHBOURS)  # [Q, 10]
    # Chosen on every other query and reported on the rest, so that the reported recall is not biased by the choice.
    nprobes = 8
    while nprobes < cells and share_found(store, queries[::2], truth[::2], nprobes) < TARGET_RECALL:
        nprobes = min(cells, nprobes * 3 // 2)
    recall = round(share_found(store, queries[1::2], truth[1::2], nprobes), 4)
    facts = {NPROBES: str(nprobes), RECALL: str(recall), ROWS: str(rows)}
    store.table.update_field_metadata({"path": "vector", "metadata": facts})
    return Built(nprobes, recall, rows)


def share_found(store: LanceStore, queries: np.ndarray, truth: Sequence[np.ndarray], nprobes: int) -> float:
    """The average share of a query's true neighbours that the approximate index finds."""
    found = [approximate(store, query, len(true), nprobes) for query, true in zip(queries, truth)]
    return float(np.mean([len(np.intersect1d(some, true)) / len(true) for some, true in zip(found, truth)]))


def search(store: LanceStore, query: np.ndarray, count: int, nprobes: int, where: str = "") -> Any:
    """LanceDB's query for the nearest of the rows that meet a condition."""
    request = store.table.search(query.astype(np.float32), vector_column_name="vector").distance_type("cosine")
    request = request.nprobes(nprobes).refine_factor(REFINE).limit(count)
    return request.where(where, prefilter=True) if where else request


def approximate(store: LanceStore, query: np.ndarray, count: int, nprobes: int) -> np.ndarray:
    """`_rowid`s of the nearest rows by the approximate index."""
    found = search(store, query, count, nprobes).select(["path", "_distance"]).with_row_id(True).to_arrow()
    return np.asarray(found["_rowid"].to_numpy())


def exact_neighbours(store: LanceStore, queries: np.ndarray, count: int) -> list[np.ndarray]:
    """`_rowid`s of the nearest rows of each query, in one pass over the table and little memory."""
    scores = np.full((len(queries), 0), 0, np.float32)
    ids = np.zeros((len(queries), 0), np.uint64)
    for batch in store.batches(["vector"]):
        vectors = as_matrix(batch["vector"], store.about.width)  # [B, E]
        scores = np.concatenate([scores, queries @ vectors.T], 1)
        rows = np.broadcast_to(batch["_rowid"].to_numpy(), (len(queries), len(vectors)))
        ids = np.concatenate([ids, rows], 1)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :count]
        scores, ids = np.take_along_axis(scores, best, 1), np.take_along_axis(ids, best, 1)
    return list(ids)


def as_matrix(column: Any, width: int) -> np.ndarray:
    """A column of vectors [N, E] float32."""
    return np.asarray(column.flatten().to_numpy(zero_copy_only=False), np.float32).reshape(-1, width)


def sample_queries(
    store: LanceStore, embed_texts: Callable[[Sequence[str]], np.ndarray], count: int = 100, seed: int = 0
) -> np.ndarray:
    """Queries as people may make them: vectors of stored images, and of their captions [Q, E].

    Texts lie apart from images in a joint space, so that recall on images alone is too high. Captions without a word
    that the matcher knows (of a captioner in another language) are left out.
    """
    import pyarrow as pa

    rows = len(store)
    places = np.sort(np.random.default_rng(seed).choice(rows, min(count, rows), replace=False))
    found: pa.Table = store.table.take_offsets(places.tolist()).select(["vector", "caption"]).to_arrow()
    images = as_matrix(found["vector"].combine_chunks(), store.about.width)
    queries = [images]
    for caption in filter(None, found["caption"].to_pylist()):
        with contextlib.suppress(InputError):
            queries.append(embed_texts([caption]))
    return np.concatenate(queries)
