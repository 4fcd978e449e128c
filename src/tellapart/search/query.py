"""Searching an index by a vector, within folders and dates."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.search.ann import NEIGHBOURS, as_matrix, built, search
from tellapart.search.store import Store
from tellapart.search.table import quoted, under
from tellapart.search.table_errors import table_errors

if TYPE_CHECKING:
    import pyarrow as pa

Day = datetime.date | str
"""A day, or its text: 2019-07-21."""
IN_MEMORY = 512 * 1024 * 1024
"""Bytes of vectors kept in memory for exact search: 130,000 of width 1024. Larger tables without an approximate index
are read from disk for every query."""
RETURNED = ("path", "folder", "taken", "width", "height", "caption", "edited", "content",
            "confidence", "sure")  # fmt: skip


@dataclass(frozen=True)
class Found:
    """A photo that was found."""

    path: str
    score: float
    """Cosine with the query, or the joint score after reranking."""
    caption: str | None
    """The edited caption if there is one, otherwise the generated one."""
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


@dataclass(frozen=True)
class Filters:
    """Conditions on the photos to find."""

    folder: str = ""
    """Only photos in this folder or one inside it."""
    after: datetime.date | None = None
    """Taken on this day or later; photos without a date do not match."""
    before: datetime.date | None = None
    """Taken before this day."""

    def condition(self) -> str:
        """The condition for the table; empty if there is none."""
        parts = [under(self.folder)] if self.folder else []
        parts += [f"taken >= timestamp {quoted(f'{self.after} 00:00:00')}"] if self.after else []
        parts += [f"taken < timestamp {quoted(f'{self.before} 00:00:00')}"] if self.before else []
        return " AND ".join(parts)

    def mask(self, facts: pa.Table) -> np.ndarray:
        """The same condition over rows in memory [N]."""
        import pyarrow as pa
        import pyarrow.compute as compute

        kept = np.ones(facts.num_rows, bool)
        if self.folder:
            kept &= _true(compute.starts_with(facts["path"], self.folder.rstrip("/") + "/"))
        for day, compare in ((self.after, compute.greater_equal), (self.before, compute.less)):
            if day is not None:
                start = pa.scalar(datetime.datetime.combine(day, datetime.time()), pa.timestamp("s"))
                kept &= _true(compare(facts["taken"], start))
        return kept


def as_day(day: Day | None, argument: str) -> datetime.date | None:
    """A day, given as one or as text; None for none. `argument` names it in the error.

    >>> as_day("2019-07-21", "after")
    datetime.date(2019, 7, 21)
    """
    if not day or isinstance(day, datetime.date):
        return day or None
    try:
        return datetime.date.fromisoformat(day)
    except ValueError as error:
        raise InputError(f"`{argument}` must be a day such as 2019-07-21, not '{day}'.") from error


def _true(answers: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(answers.fill_null(False).to_numpy())


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
        with table_errors(self.store.where):
            return self._nearest(query, count, filters or Filters(), exact)

    def _nearest(self, query: np.ndarray, count: int, filters: Filters, exact: bool) -> list[Found]:
        approximate = None if exact else built(self.store)
        if approximate is None and len(self.store) * self.store.about.width * 4 <= IN_MEMORY:
            return self._in_memory(query, count, filters)
        request = search(self.store, query, count, approximate.nprobes if approximate else 1, filters.condition())
        if approximate is None:
            request = request.bypass_vector_index()
        rows = request.select([*self.store.existing(RETURNED), "_distance"]).to_arrow().to_pylist()
        return [_found(row, 1 - row["_distance"]) for row in rows]

    def _in_memory(self, query: np.ndarray, count: int, filters: Filters) -> list[Found]:
        snapshot = self._current()
        scores = snapshot.vectors @ query.astype(np.float32)  # [N]
        if filters != Filters():
            scores = np.where(filters.mask(snapshot.facts), scores, -np.inf)
        count = min(count, int(np.isfinite(scores).sum()))
        best = np.argpartition(-scores, count - 1)[:count] if 0 < count < len(scores) else np.arange(len(scores))
        best = best[np.argsort(-scores[best], kind="stable")][:count]
        rows = snapshot.facts.take(best).to_pylist()
        return [_found(row, float(scores[place])) for row, place in zip(rows, best.tolist())]

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


def _found(row: dict[str, Any], score: float) -> Found:
    caption = row["edited"] or row["caption"]
    shown = row["folder"], row["taken"], row["width"], row["height"], row["content"]
    generated = not row["edited"]
    return Found(
        row["path"],
        score,
        caption,
        *shown,
        confidence=row.get("confidence") if generated else None,
        sure=row.get("sure") if generated else None,
    )
