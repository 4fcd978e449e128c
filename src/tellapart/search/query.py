"""Searching an index by a vector, among the photos that meet conditions."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.search.filters import Filters
from tellapart.search.protocol import Store
from tellapart.search.table import OWN_CAPTIONS
from tellapart.text.written import as_written

NEIGHBOURS = 10
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
    """All vectors in memory, at one version."""

    version: int
    ids: np.ndarray  # [N]
    vectors: np.ndarray  # [N, E] float32


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
        near = None if exact else self.store.near(query, count, filters, RETURNED)
        if near is not None:
            return [Candidate(row, row.pop("vector"), row.pop("cosine")) for row in near]
        best = _Best(query.astype(np.float32), count)
        if len(self.store) * self.store.about.width * 4 <= IN_MEMORY:
            snapshot = self._current()
            kept = None if filters == Filters() else np.isin(snapshot.ids, self.store.ids(filters))
            best.add(snapshot.ids, snapshot.vectors, kept)
        else:
            for ids, vectors in self.store.vectors(filters):
                best.add(ids, vectors)
        rows = self.store.by_ids(best.ids.tolist(), RETURNED)
        found = zip(best.ids.tolist(), best.vectors, best.scores.tolist())
        return [Candidate(rows[id_], vector, score) for id_, vector, score in found if id_ in rows]

    def _current(self) -> _Snapshot:
        with self._lock:  # one thread reads the vectors while the others wait
            version = self.store.photos_version
            if self._snapshot is None or self._snapshot.version != version:
                self._snapshot = None
                self._snapshot = _read(self.store, version)
            return self._snapshot


class _Best:
    """The rows with the highest cosines so far."""

    def __init__(self, query: np.ndarray, count: int) -> None:
        self.query, self.count = query, count
        self.ids, self.scores = np.zeros(0, np.int64), np.zeros(0, np.float32)
        self.vectors = np.zeros((0, len(query)), np.float32)

    def add(self, ids: np.ndarray, vectors: np.ndarray, kept: np.ndarray | None = None) -> None:
        """Compare with more rows: ids [N], vectors [N, E]; with those of them that are kept [N]."""
        scores = vectors @ self.query  # [N]
        some = np.arange(len(ids)) if kept is None else np.flatnonzero(kept)
        if self.count < len(some):
            some = some[np.argpartition(-scores[some], self.count - 1)[: self.count]]
        self.ids = np.concatenate([self.ids, ids[some]])
        self.scores = np.concatenate([self.scores, scores[some]])
        self.vectors = np.concatenate([self.vectors, vectors[some]])
        best = np.argsort(-self.scores, kind="stable")[: self.count]
        self.ids, self.scores, self.vectors = self.ids[best], self.scores[best], self.vectors[best]


def _read(store: Store, version: int) -> _Snapshot:
    ids, vectors = np.empty(len(store), np.int64), np.empty((len(store), store.about.width), np.float32)
    filled = 0
    for some_ids, some in store.vectors():
        if filled + len(some) > len(vectors):  # rows were added while this was read
            ids = np.concatenate([ids[:filled], some_ids])
            vectors = np.concatenate([vectors[:filled], some])
        ids[filled : filled + len(some)], vectors[filled : filled + len(some)] = some_ids, some
        filled += len(some)
    return _Snapshot(version, ids[:filled], vectors[:filled])


def captions_of_people(store: Store) -> list[str]:
    """The captions that people wrote."""
    return [text for row in store.rows(OWN_CAPTIONS) for name in OWN_CAPTIONS if (text := row.get(name))]


def _found(row: dict[str, Any], score: float) -> Found:
    shown = row["folder"], row["taken"], row["width"], row["height"], row["content"]
    own = own_caption(row)
    return Found(
        row["path"],
        score,
        own or generated_caption(row),
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


def generated_caption(row: dict[str, Any]) -> str | None:
    """The generated caption as people write it; earlier versions stored its words ("cat 's")."""
    caption: str | None = row["caption"]
    return caption and as_written(caption)
