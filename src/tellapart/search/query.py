"""Searching an index by a vector, among the photos that meet conditions."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.search.ann import NEIGHBOURS, as_matrix, built, search
from tellapart.search.filters import Filters
from tellapart.search.store import Store
from tellapart.search.table_errors import table_errors

if TYPE_CHECKING:
    import pyarrow as pa

IN_MEMORY = 512 * 1024 * 1024
"""Bytes of vectors kept in memory for exact search: 130,000 of width 1024. Larger tables without an approximate index
are read from disk for every query."""
RETURNED = ("path", "folder", "taken", "width", "height", "caption", "edited", "content",
            "confidence", "sure", "camera", "latitude", "longitude", "described")  # fmt: skip


@dataclass(frozen=True)
class Found:
    """A photo that was found."""

    path: str
    score: float
    """Cosine with the query (without calibration, plus 0.1 for all words of the query in the generated caption, and
    0.2 for those in people's own), or the joint score after reranking."""
    caption: str | None
    """The edited caption if there is one, else the description in the file, else the generated caption."""
    folder: str
    taken: datetime.datetime | None
    width: int
    height: int
    content: str = ""
    """Hash of its bytes; equal for copies."""
    confidence: float | None = None
    """Probability that the generated caption is true; None for an edited caption, and where it is unknown."""
    sure: bool | None = None
    """Whether the confidence reaches its threshold; None without confidence."""
    camera: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    probability: float | None = None
    """Probability that the photo matches the text; None for other queries, and for matchers without calibration."""
    weak: bool = False
    """Whether the photo matches only perhaps: results show such photos last, under "less sure"."""
    by_caption: bool = False
    """Whether the caption that people wrote has every word of the query."""
    copies: tuple[str, ...] = ()
    """Paths of copies of the photo, and of photos of the same burst, that were found too."""


@dataclass(frozen=True)
class Candidate:
    """A row of the table that may answer a query."""

    row: dict[str, Any]
    vector: np.ndarray  # [E] float32
    cosine: float

    def found(self) -> Found:
        """The photo, with the cosine as score."""
        return _found(self.row, self.cosine)


def combined(plus: Sequence[np.ndarray], minus: Sequence[np.ndarray] = ()) -> np.ndarray:
    """One query vector of length one [E]: the sum of some vectors minus the sum of others.

    >>> combined([np.array([1.0, 0.0]), np.array([1.0, 1.0])], [np.array([1.0, 0.0])]).round(2).tolist()
    [0.71, 0.71]
    """
    if not plus:
        raise InputError("Nothing to search for; give a text, or an image that the photos should resemble.")
    total = np.sum(plus, axis=0) - (np.sum(minus, axis=0) if len(minus) else 0)
    length = float(np.linalg.norm(total))
    if length < 1e-6:
        raise InputError("The query cancels out: it adds and subtracts the same; leave one of them out.")
    return np.asarray(total / length)


@dataclass(frozen=True)
class _Snapshot:
    """A whole table in memory, at one version."""

    version: int
    vectors: np.ndarray  # [N, E] float32
    facts: pa.Table


class Searcher:
    """Searches an index: exactly while it has no approximate index. Safe to use from several threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._snapshot: _Snapshot | None = None
        self._lock = threading.Lock()

    def nearest(
        self, query: np.ndarray, count: int = NEIGHBOURS, filters: Filters | None = None, exact: bool = False
    ) -> list[Found]:
        """The photos nearest to a vector [E] of length one, best first."""
        return [one.found() for one in self.candidates(query, count, filters, exact)]

    def candidates(
        self, query: np.ndarray, count: int = NEIGHBOURS, filters: Filters | None = None, exact: bool = False
    ) -> list[Candidate]:
        """The rows nearest to a vector [E] of length one, best first, with their vectors."""
        filters = filters or Filters()
        filters.check(self.store)
        with table_errors(self.store.where):
            return self._nearest(query, count, filters, exact)

    def _nearest(self, query: np.ndarray, count: int, filters: Filters, exact: bool) -> list[Candidate]:
        approximate = None if exact else built(self.store)
        if approximate is None and len(self.store) * self.store.about.width * 4 <= IN_MEMORY:
            return self._in_memory(query, count, filters)
        request = search(self.store, query, count, approximate.nprobes if approximate else 1, filters.condition())
        if approximate is None:
            request = request.bypass_vector_index()
        columns = [*self.store.existing(RETURNED), "vector", "_distance"]
        return [candidate(row, 1 - row.pop("_distance")) for row in request.select(columns).to_arrow().to_pylist()]

    def _in_memory(self, query: np.ndarray, count: int, filters: Filters) -> list[Candidate]:
        snapshot = self._current()
        scores = snapshot.vectors @ query.astype(np.float32)  # [N]
        if filters != Filters():
            scores = np.where(filters.mask(snapshot.facts), scores, -np.inf)
        count = min(count, int(np.isfinite(scores).sum()))
        best = np.argpartition(-scores, count - 1)[:count] if 0 < count < len(scores) else np.arange(len(scores))
        best = best[np.argsort(-scores[best], kind="stable")][:count]
        rows = snapshot.facts.take(best).to_pylist()
        return [
            Candidate(row, snapshot.vectors[place], float(scores[place])) for row, place in zip(rows, best.tolist())
        ]

    def _current(self) -> _Snapshot:
        with self._lock:  # one thread reads the table while the others wait
            version = self.store.version
            if self._snapshot is None or self._snapshot.version != version:
                self._snapshot = None
                self._snapshot = _read(self.store, version)
            return self._snapshot


def _read(store: Store, version: int) -> _Snapshot:
    import pyarrow as pa

    vectors = np.empty((len(store), store.about.width), np.float32)
    pieces: list[pa.RecordBatch] = []
    filled, returned = 0, store.existing(RETURNED)
    for batch in store.batches([*returned, "vector"]):
        some = as_matrix(batch["vector"], store.about.width)
        if filled + len(some) > len(vectors):  # rows were added while this was read
            vectors = np.concatenate([vectors[:filled], np.empty_like(some)])
        vectors[filled : filled + len(some)] = some
        filled += len(some)
        pieces.append(batch.select(returned))
    schema = pa.schema([store.schema().field(name) for name in returned])
    return _Snapshot(version, vectors[:filled], pa.Table.from_batches(pieces, schema).combine_chunks())


def candidate(row: dict[str, Any], cosine: float) -> Candidate:
    """A row that has its vector."""
    return Candidate(row, np.asarray(row.pop("vector"), np.float32), cosine)


def _found(row: dict[str, Any], score: float) -> Found:
    shown = row["folder"], row["taken"], row["width"], row["height"], row["content"]
    own = own_caption(row)
    return Found(
        row["path"],
        score,
        own or row["caption"],
        *shown,
        confidence=None if own else row.get("confidence"),
        sure=None if own else row.get("sure"),
        camera=row.get("camera") or None,
        latitude=row.get("latitude"),
        longitude=row.get("longitude"),
    )


def own_caption(row: dict[str, Any]) -> str | None:
    """The caption that people wrote: the edited one, else the description in the file."""
    return row["edited"] or row.get("described") or None
