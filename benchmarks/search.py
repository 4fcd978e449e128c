"""Search: a query over 100,000 vectors exactly and over a million approximately.

Vectors are synthetic: 2,000 clusters in 64 dimensions, spread over all dimensions with noise, of length one. Queries
come from the same distribution and are not in the table. `--rows 1000000` builds the million (minutes).
`--stored 300000` measures an index in SQLite of so many photos with captions instead, in processor time.
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
from typing import Any

import numpy as np
import torch

from tellapart.search.known import read_known
from tellapart.search.protocol import Store
from tellapart.search.query import Searcher
from tellapart.search.store import open_or_make
from tellapart.search.table import About

EXACT_ROWS, EXACT_WIDTH = 100_000, 1024
APPROXIMATE_WIDTH = 512
QUERIES = 50
PIECE, CHUNK = 20_000, 256


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


def stored(folder: Path, rows: int) -> None:
    """Size and processor time of an index in SQLite: writing chunks, what a second run reads, exact queries."""
    store = open_or_make(str(folder / "stored"), About("benchmark", "benchmark", "", APPROXIMATE_WIDTH))
    random, seconds = np.random.default_rng(0), 0.0
    words = [f"word{number}" for number in range(5_000)]
    for first in range(0, rows, PIECE):
        vectors = made_up(min(PIECE, rows - first), APPROXIMATE_WIDTH, 1 + first).astype(np.float16)
        said = random.integers(0, len(words), (len(vectors), 10)).tolist()
        made = [
            _row(first + row, vector, " ".join(words[number] for number in numbers))
            for row, (vector, numbers) in enumerate(zip(vectors, said))
        ]
        for row in range(0, len(made), CHUNK):
            begun = time.process_time()
            store.write(made[row : row + CHUNK], [], {})
            seconds += time.process_time() - begun
    size = sum(file.stat().st_size for file in (folder / "stored").rglob("*") if file.is_file())
    begun = time.process_time()
    read_known(store)
    known = time.process_time() - begun
    searcher, taken = Searcher(store), []
    for query in made_up(QUERIES // 5, APPROXIMATE_WIDTH, 0):
        begun = time.process_time()
        searcher.nearest(query)
        taken.append(time.process_time() - begun)
    print(
        f"SQLite, {rows:,} x {APPROXIMATE_WIDTH}, processor time: {1000 * seconds / rows * CHUNK:.0f} ms to write "
        f"{CHUNK} photos, {1e6 * known / rows:.1f} s per million to read what is known, "
        f"{1000 * statistics.median(taken):.0f} ms per exact query. {size / rows:.0f} bytes per photo."
    )


def _row(number: int, vector: np.ndarray, caption: str) -> dict[str, Any]:
    facts = {"size": 100_000, "modified": number, "width": 4000, "height": 3000, "camera": "", "caption": caption}
    return {
        "path": f"/photos/2019/summer/IMG_{number}.jpg", "folder": "/photos", "content": f"{number * 2**90:032x}",
        "vector": vector, **facts,
    }  # fmt: skip


def main(device: str = "cpu", rows: int = EXACT_ROWS) -> None:
    """`rows`: size of the approximate index, 100,000 by default. Only the CPU is used."""
    torch.set_num_threads(os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as temporary:
        exact(Path(temporary))
        approximate(Path(temporary), rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=EXACT_ROWS, help="size of the approximate index")
    parser.add_argument("--stored", type=int, default=0, help="measure an index in SQLite of so many photos instead")
    options = parser.parse_args()
    if options.stored:
        with tempfile.TemporaryDirectory() as temporary:
            stored(Path(temporary), options.stored)
    else:
        main(rows=options.rows)
