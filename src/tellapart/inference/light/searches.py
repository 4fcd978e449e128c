"""Searches for captions of some images by an exported captioner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tellapart.inference.generated import BEAM, MAX_WORDS
from tellapart.inference.light.beam import beams, best_captions
from tellapart.inference.light.decoded import Captions
from tellapart.inference.light.steps import ExportedCaptioner, State
from tellapart.text.vocabulary import Vocabulary
from tellapart.text.word_constraints import Constraints, bad_endings

START_AT_ONCE, SEARCH_AT_ONCE = 4, 32
"""Images whose activations fit into a core's cache."""
IMAGES_PER_THREAD = 16
"""At least: with fewer, the products of a step are too small to share."""


class ExportedSearches:
    """The captioner after it has read the cells [I, R, D] of some images."""

    def __init__(
        self,
        captioner: ExportedCaptioner,
        vocabulary: Vocabulary,
        cells: np.ndarray,
        beam: int = BEAM,
        is_bundled: bool = False,
    ) -> None:
        self.captioner, self._vocabulary, self.beam, self._is_bundled = captioner, vocabulary, beam, is_bundled
        self.endings = bad_endings(vocabulary)
        parts = (captioner.start(cells[first : first + START_AT_ONCE]) for first in range(0, len(cells), START_AT_ONCE))
        self.state = _stacked(parts, len(cells))
        self.images = len(cells)

    @property
    def vocabulary(self) -> Vocabulary:
        """The captioner's words."""
        return self._vocabulary

    @property
    def is_bundled(self) -> bool:
        """Whether the captioner is the one in the package."""
        return self._is_bundled

    def plain(self, last: bool = False) -> Captions:
        """The likeliest caption of each image. last: no other search follows, so that what was read may be lost."""
        constraints = Constraints(bad_endings=self.endings)
        return joined(
            [
                best_captions(self.captioner, self._at(rows), self.beam, MAX_WORDS, constraints, last)
                for rows in _pieces(np.arange(self.images))
            ]
        )

    def whole_beam(self, beam: int) -> Captions:
        """All captions of a beam of each image, without repeated pairs of words."""
        return self.guided(np.arange(self.images), None, beam)

    def guided(self, rows: np.ndarray, preferred: np.ndarray | None, beam: int) -> Captions:
        """All captions of a beam of these images, without repeated pairs of words; preferred: a guide [rows, V]."""
        constraints = Constraints(no_repeat=2, bad_endings=self.endings)
        parts = []
        for places in _pieces(np.arange(len(rows))):
            own = None if preferred is None else preferred[places]
            parts.append(beams(self.captioner, self._at(rows[places]), beam, MAX_WORDS, constraints, own))
        return joined(parts)

    def _at(self, rows: np.ndarray) -> State:
        """The state of some images; rows that follow each other are not copied."""
        first, last = int(rows[0]), int(rows[-1])
        together = last - first == len(rows) - 1 and (np.diff(rows) == 1).all()
        return {name: value[first : last + 1] if together else value[rows] for name, value in self.state.items()}


def likeliest(
    captioner: ExportedCaptioner, vocabulary: Vocabulary, cells: np.ndarray, beam: int, threads: int
) -> Captions:
    """The likeliest caption of each image [I, R, D]."""

    def search(some: np.ndarray) -> Captions:
        return ExportedSearches(captioner, vocabulary, some, beam).plain(last=True)

    return _in_threads(search, captioner, cells, threads)


def whole_beam(
    captioner: ExportedCaptioner, vocabulary: Vocabulary, cells: np.ndarray, beam: int, threads: int
) -> Captions:
    """All captions of a beam of each image [I, R, D], without repeated pairs of words."""

    def search(some: np.ndarray) -> Captions:
        return ExportedSearches(captioner, vocabulary, some).whole_beam(beam)

    return _in_threads(search, captioner, cells, threads)


def _in_threads(
    search: Callable[[np.ndarray], Captions], captioner: ExportedCaptioner, cells: np.ndarray, threads: int
) -> Captions:
    """Threads share the images, since a graph uses one core per call."""
    threads = min(threads, len(cells) // IMAGES_PER_THREAD)
    if threads < 2:
        return search(cells)
    captioner.open()  # before the threads ask for it
    with ThreadPoolExecutor(threads) as pool:
        return joined(list(pool.map(search, np.array_split(cells, threads))))


def _stacked(parts: Iterator[State], images: int) -> State:
    """The states of all images; each part is copied while it is in the cache."""
    state: State = {}
    filled = 0
    for part in parts:
        for name, value in part.items():
            whole = state.setdefault(name, np.empty((images, *value.shape[1:]), value.dtype))
            whole[filled : filled + len(value)] = value
        filled += len(next(iter(part.values())))
    return state


def _pieces(rows: np.ndarray) -> list[np.ndarray]:
    return [rows[first : first + SEARCH_AT_ONCE] for first in range(0, len(rows), SEARCH_AT_ONCE)]


def joined(parts: list[Captions]) -> Captions:
    """Captions of several searches, padded to the longest."""
    if len(parts) == 1:
        return parts[0]
    longest = max(part.tokens.shape[1] for part in parts)
    tokens, attention = [], []
    for part in parts:
        missing = (0, longest - part.tokens.shape[1])
        tokens.append(np.pad(part.tokens, ((0, 0), missing)))
        if part.attention is not None:
            attention.append(np.pad(part.attention, ((0, 0), missing, (0, 0))))
    whole = np.concatenate(attention) if len(attention) == len(parts) else None
    return Captions(np.concatenate(tokens), np.concatenate([part.log_probability for part in parts]), whole)
