"""The answer to a query: photos by image and by caption, clear matches first, copies collapsed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tellapart.search.calibration import Calibration, probability
from tellapart.search.copies import Shot, collapsed
from tellapart.search.filters import Filters
from tellapart.search.lexicon import UnknownWord, corrected, words_of
from tellapart.search.protocol import Store
from tellapart.search.query import RETURNED, Candidate, Found, Searcher, own_caption
from tellapart.text.function_words import is_content
from tellapart.text.lemmas import noun_lemma

EXTRA = 4
"""Candidates per photo that is shown, for captions to reorder and copies to be collapsed."""
FEWEST, MOST_ROWS = 64, 10_000
CAPTION_WEIGHT = 0.1
"""What all words of a query in a generated caption add to the cosine of a matcher without calibration."""
OWN_WEIGHT = 2.0
"""A caption that people wrote counts so many times as much."""


@dataclass(frozen=True)
class Query:
    """What to search for."""

    vector: np.ndarray  # [E] of length one; zeros to search captions only
    text: str = ""
    """Words to find in captions."""
    unknown: tuple[UnknownWord, ...] = ()
    calibration: Calibration | None = None
    """For a text alone; None for images, sums and differences."""
    same: float = math.inf
    """Cosine of two copies of a photo that have different bytes; not known for most matchers."""


@dataclass(frozen=True)
class Answer:
    """Photos that match a query, best first: the clear matches, then those that match perhaps."""

    photos: list[Found] = field(default_factory=list)
    unknown: tuple[UnknownWord, ...] = ()
    """Words that nothing was learned about, and that no caption of yours has."""
    calibrated: bool = False
    """Whether the photos have probabilities; without, none is called weak."""
    corrected: str | None = None
    """The text with the best suggestions in place of unknown words; None if some word has none."""

    def __len__(self) -> int:
        return len(self.photos)

    def __getitem__(self, place: int) -> Found:
        return self.photos[place]

    def __iter__(self) -> Iterator[Found]:
        return iter(self.photos)

    @property
    def clear(self) -> list[Found]:
        """The photos that probably match."""
        return [one for one in self.photos if not one.weak]

    @property
    def less_sure(self) -> list[Found]:
        """The photos that match perhaps."""
        return [one for one in self.photos if one.weak]


def answer(
    searcher: Searcher,
    query: Query,
    count: int,
    filters: Filters | None = None,
    *,
    exact: bool = False,
    everything: bool = False,
) -> Answer:
    """The best `count` photos. everything: also those that match too little to be shown."""
    filters = filters or Filters()
    words = wanted_words(query.text)
    rows = max(FEWEST, EXTRA * count)
    while True:
        near = searcher.candidates(query.vector, rows, filters, exact) if query.vector.any() else []
        ranked = _ranked(query, words, _with_captioned(searcher, query, words, near, rows, filters), everything)
        shots = [Shot(one.content, one.taken, vector) for one, vector in ranked]
        groups = collapsed(shots, count, query.same)
        if len(groups) >= count or len(near) < rows or rows >= MOST_ROWS or _is_cut(query, ranked, near):
            break
        rows *= 4  # copies fill the result
    found = [
        replace(ranked[first][0], copies=tuple(ranked[other][0].path for other in others)) for first, *others in groups
    ]
    fixed = corrected(query.text, query.unknown)
    return Answer(found, query.unknown, query.calibration is not None, fixed)


def wanted_words(text: str) -> list[str]:
    """The words of a query that a caption should have, as singulars.

    >>> wanted_words("two dogs on a beach")
    ['two', 'dog', 'beach']
    """
    return list(dict.fromkeys(noun_lemma(word) for word in words_of(text) if is_content(word)))


def share_of_words(words: Sequence[str], caption: str | None) -> float:
    """The share of some singulars that a caption has.

    >>> share_of_words(["dog", "beach"], "Dogs in the sea")
    0.5
    """
    if not words or not caption:
        return 0.0
    there = {noun_lemma(word) for word in words_of(caption)}
    return sum(word in there for word in words) / len(words)


def captions_have(store: Store, text: str) -> bool:
    """Whether some caption has a word of a text."""
    return bool(store.with_words(wanted_words(text), ["path"], 1, Filters()))


def _with_captioned(
    searcher: Searcher, query: Query, words: list[str], near: list[Candidate], rows: int, filters: Filters
) -> list[Candidate]:
    """The nearest rows, and those whose captions have words of the query."""
    there = {one.row["path"] for one in near}
    captioned = searcher.store.with_words(words, [*RETURNED, "vector"], rows, filters)
    more = [(row, row.pop("vector")) for row in captioned if row["path"] not in there]
    return near + [Candidate(row, vector, float(vector @ query.vector)) for row, vector in more]


def _ranked(
    query: Query, words: list[str], candidates: list[Candidate], everything: bool
) -> list[tuple[Found, np.ndarray]]:
    """Photos with their vectors: those whose own caption has all words, then clear, then weak matches."""
    if not candidates:
        return []
    cosine = np.asarray([one.cosine for one in candidates], np.float32)
    generated = np.asarray([share_of_words(words, one.row["caption"]) for one in candidates])
    own = np.asarray([share_of_words(words, own_caption(one.row)) for one in candidates])
    caption = np.maximum(generated**2, OWN_WEIGHT * own**2)
    calibration = query.calibration
    nonsense = bool(query.unknown) and len({one.word for one in query.unknown}) >= len(words)
    if calibration is None:
        order = cosine + CAPTION_WEIGHT * caption
    else:
        order = calibration.logits(query.vector, cosine, caption, len(words))
    found = []
    for place in np.lexsort((-order, own < 1)).tolist():
        certain = bool(own[place] == 1)
        score = candidates[place].cosine if calibration else float(order[place])
        photo = replace(candidates[place].found(), score=score, by_caption=certain)
        if calibration is not None:
            likely = probability(float(order[place]))
            weak = not certain and (nonsense or likely < calibration.clear)
            photo = replace(photo, probability=round(1.0 if certain else likely, 4), weak=weak)
            if not (everything or certain or likely >= calibration.shown):
                continue
        found.append((photo, candidates[place].vector))
    return sorted(found, key=lambda one: one[0].weak)  # stable


def _is_cut(query: Query, ranked: list[tuple[Found, np.ndarray]], near: list[Candidate]) -> bool:
    """Whether rows farther away match too little to be shown."""
    return query.calibration is not None and len(ranked) < len(near)
