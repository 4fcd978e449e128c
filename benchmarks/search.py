"""Search: a query over 100,000 vectors exactly and over a million approximately.

Vectors are synthetic: 2,000 clusters in 64 dimensions, spread over all dimensions with noise, of length one. Queries
come from the same distribution and are not in the table. `--rows 1000000` builds the million (minutes).
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from tellapart.search.protocol import Store
from tellapart.search.query import Searcher
from tellapart.search.store import open_or_make
from tellapart.search.table import About

EXACT_ROWS, EXACT_WIDTH = 100_000, 1024
APPROXIMATE_WIDTH = 512
QUERIES = 50
PIECE = 20_000


def made_up(rows: int, width: int, seed: int) -> np.ndarray:
    world, random = np.random.default_rng(0), np.random.default_rng(seed)
    centres = world.standard_normal((2_000, 64)).astype(np.float32)
    basis = world.standard_normal((64, width)).astype(np.float32)
    inner = centres[random.integers(0, len(centres), rows)] + random.standard_normal((rows, 64)).astype(np.float32)
    vectors = inner @ basis + 2 * random.standard_normal((rows, width)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def fill(where: Path, rows: int, width: int, lance: bool = False) -> Store:
    """An index in SQLite, or in LanceDB, which has an approximate index."""
    make: Callable[[str, About], Store] = open_or_make
    if lance:
        from tellapart.search.lance.opening import open_or_make_table as make
    store = make(str(where), About("benchmark", "benchmark", "", width))
    for first in range(0, rows, PIECE):
        count = min(PIECE, rows - first)
        vectors = made_up(count, width, 1 + first).astype(np.float16)
        made = [
            {"path": f"/photos/{first + row}.jpg", "folder": "/photos", "content": f"{first + row:032x}", "vector": one}
            for row, one in enumerate(vectors)
        ]
        store.write(made, [], {})
    return store


def milliseconds(searcher: Searcher, queries: np.ndarray) -> tuple[float, float]:
    """Median and 95th percentile of one query for ten photos, after one warm-up query."""
    searcher.nearest(queries[0])
    taken = []
    for query in queries:
        begun = time.perf_counter()
        searcher.nearest(query)
        taken.append(1000 * (time.perf_counter() - begun))
    return statistics.median(taken), float(np.percentile(taken, 95))


def exact(folder: Path) -> None:
    store = fill(folder / "exact", EXACT_ROWS, EXACT_WIDTH)
    begun = time.perf_counter()
    Searcher(store).nearest(made_up(1, EXACT_WIDTH, 0)[0])
    print(f"first query, which reads the vectors: {1000 * (time.perf_counter() - begun):.0f} ms")
    median, slow = milliseconds(Searcher(store), made_up(QUERIES, EXACT_WIDTH, 0))
    print(f"exact, {EXACT_ROWS:,} x {EXACT_WIDTH}: {median:.1f} ms per query (95% below {slow:.1f}); target < 50")


def approximate(folder: Path, rows: int) -> None:
    from tellapart.search.lance.ann import build

    store = fill(folder / "approximate", rows, APPROXIMATE_WIDTH, lance=True)
    begun = time.perf_counter()
    made = build(store, made_up(2 * QUERIES, APPROXIMATE_WIDTH, 2**31))
    seconds = time.perf_counter() - begun
    median, slow = milliseconds(Searcher(store), made_up(QUERIES, APPROXIMATE_WIDTH, 0))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"approximate, {rows:,} x {APPROXIMATE_WIDTH}: {median:.1f} ms per query (95% below {slow:.1f}); target < 30. "
        f"Recall@10 {made.recall:.3f} with {made.nprobes} cells; target >= 0.95. Built in {seconds:.0f} s; "
        f"at most {memory:.1f} GB of memory"
    )


def main(device: str = "cpu", rows: int = EXACT_ROWS) -> None:
    """`rows`: size of the approximate index, 100,000 by default. Only the CPU is used."""
    torch.set_num_threads(os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as temporary:
        exact(Path(temporary))
        approximate(Path(temporary), rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=EXACT_ROWS, help="size of the approximate index")
    main(rows=parser.parse_args().rows)
