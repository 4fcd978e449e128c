"""Beam search over an exported captioner, in numpy. It equals `models.decoding.beam`, batched over images and beams."""

from __future__ import annotations

import numpy as np

from tellapart.core.errors import InputError
from tellapart.inference.light.decoded import Captions
from tellapart.inference.light.forbidden import is_forbidden
from tellapart.inference.light.steps import SHARED, ExportedCaptioner, RankedWords, State
from tellapart.text.vocabulary import END, PAD, START
from tellapart.text.word_constraints import UNCONSTRAINED, Constraints, most_forbidden


def beams(
    captioner: ExportedCaptioner,
    state: State,
    width: int = 3,
    max_words: int = 20,
    constraints: Constraints = UNCONSTRAINED,
    guide: np.ndarray | None = None,
) -> Captions:
    """All `width` captions of each image, best first: row i * width + j is image i's j-th.

    state: `captioner.start(cells)`.
    guide: [I, V] nats added to the log-probability of each word of an image when captions are ranked. The returned
    log-probabilities are the captioner's, without it.
    """
    return _searched(BeamSearch(captioner, state, width, constraints, guide), max_words)


def best_captions(
    captioner: ExportedCaptioner,
    state: State,
    width: int = 3,
    max_words: int = 20,
    constraints: Constraints = UNCONSTRAINED,
    owned: bool = False,
) -> Captions:
    """The likeliest caption that a beam finds of each image: row i is image i's.

    An image is finished when its likeliest caption is: a longer caption is never likelier than its beginning.
    owned: the state may be changed, because nobody reads it afterwards.
    """
    search = BeamSearch(captioner, state, width, constraints, best_only=True, owned=owned)
    found = _searched(search, max_words)
    return found.select(np.arange(search.images) * width)


def _searched(search: BeamSearch, max_words: int) -> Captions:
    if search.width < 1:
        raise InputError(f"`width` must be at least 1, not {search.width}.")
    for time in range(max_words + 1):
        search.step(last=time == max_words)
        if not len(search.rows):
            break
    return search.result(max_words + 1)


class BeamSearch:
    """The beams of the active images, image-major, and the results of the finished ones."""

    def __init__(
        self,
        captioner: ExportedCaptioner,
        state: State,
        width: int,
        constraints: Constraints,
        guide: np.ndarray | None = None,
        best_only: bool = False,
        owned: bool = False,
    ) -> None:
        self.captioner, self.state, self.width, self.constraints = captioner, state, width, constraints
        self.best_only, self.owned = best_only, owned
        self.images = len(next(iter(state.values())))
        self.rows = np.arange(self.images)  # images still in the batch
        # One beam per image at first, as all would be equal; `width` beams after the first word.
        self.prefix = np.zeros((self.images, 0), np.int64)
        self.total = np.zeros((self.images, 1), np.float32)
        self.guide = guide  # [I, V]
        self.bonus = np.zeros((self.images, 1), np.float32)  # the guide's sum over the words of each beam
        self.attention: np.ndarray | None = None  # [I * width, t, R]
        self.finished: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []

    def step(self, last: bool) -> None:
        """Add one word."""
        images, beams = self.total.shape
        time = self.prefix.shape[1]
        word = self.prefix[:, -1] if time else np.full(images, START)
        spare = most_forbidden(time, self.constraints)
        count = min(self.width + spare, self.captioner.words)
        ranked = self.captioner.step(word, self.state, count, self.guide)
        finished = (word == END) | (word == PAD)  # [N]
        gain, adjusted, per_word = self._candidates(ranked, finished, last)  # [N, c]
        total = (self.total.reshape(-1, 1) + gain).reshape(images, -1)  # [I, beams * c]
        standing = self.total if self.guide is None else self.total + self.bonus
        rank = (standing.reshape(-1, 1) + adjusted).reshape(images, -1)
        if total.shape[1] < self.width:  # fewer words than beams: the remaining rows hold no caption
            missing = ((0, 0), (0, self.width - total.shape[1]))
            total, rank = (np.pad(part, missing, constant_values=-np.inf) for part in (total, rank))
            per_word = np.pad(per_word, missing)
        picked = _best(rank, self.width)  # [I, width]
        parent = np.minimum(picked // per_word.shape[1], beams - 1)
        parent = (parent + np.arange(images)[:, None] * beams).reshape(-1)  # [N]
        chosen = np.take_along_axis(per_word.reshape(images, -1), picked, 1)  # [I, width]
        self.total = np.take_along_axis(total, picked, 1)
        if self.guide is not None:
            added = np.where(finished[parent].reshape(images, -1), 0, np.take_along_axis(self.guide, chosen, 1))
            self.bonus = self.bonus.reshape(-1)[parent].reshape(images, -1) + added
        self.prefix = np.concatenate([self.prefix[parent], chosen.reshape(-1, 1)], 1)
        attention = np.where(finished[:, None], 0, ranked.attention)[:, None]  # [N, 1, R]
        if self.attention is not None:
            attention = np.concatenate([self.attention, attention], 1)
        self.attention = attention[parent]
        self._remove_finished(ranked.state, parent)

    def _candidates(
        self, ranked: RankedWords, finished: np.ndarray, last: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The best words after each beam: log-probabilities, the same with guide, and words, all [N, c].

        An image's best `width` are among the best `width` of each of its beams.
        """
        if last:
            word, best, gain = np.full((len(finished), 1), END), ranked.end.copy(), ranked.end_own.copy()
        else:
            word, forbidden = ranked.words, is_forbidden(ranked.words, self.prefix, self.constraints)
            best, gain = (np.where(forbidden, -np.inf, part) for part in (ranked.values, ranked.own))
        # A finished caption stays as it is.
        for part in (gain, best):
            part[finished] = -np.inf
            part[finished, 0] = 0
        return gain, best, np.where(finished[:, None], PAD, word)

    def _remove_finished(self, state: State, parent: np.ndarray) -> None:
        """Reorder the state by parents, and remove finished images from the batch: most finish before the longest."""
        last = self.prefix[:, -1].reshape(-1, self.width)
        finished = (last == END) | (last == PAD) | np.isinf(self.total)
        done = finished[:, 0] if self.best_only else finished.all(1)
        # Removing them one by one would cost more copying than it saves.
        if done.all() or done.sum() * 4 >= len(self.rows):
            kept = without(done)
            parent = parent[self._store(done, kept)]
            state = {n: self._moved(v, kept) if n.startswith(SHARED) else v for n, v in state.items()}
            self.owned = True
        self.state = {n: v if n.startswith(SHARED) else v[parent] for n, v in state.items()}

    def _moved(self, cells: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """The rows `kept` of a state [I, ...]; one that is ours is changed in place, which moves few rows."""
        if not self.owned:
            return np.asarray(cells[kept])
        moved = (kept != np.arange(len(kept))).nonzero()[0]
        cells[moved] = cells[kept[moved]]
        return cells[: len(kept)]

    def _store(self, done: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Keep the captions of finished images [I] as results; the beams of the images `kept`."""
        every, keep = self._members(done.nonzero()[0]), self._members(kept)
        assert self.attention is not None
        self.finished.append((self.rows[done], self.prefix[every], self.total[done], self.attention[every]))
        self.rows, self.total, self.prefix = self.rows[kept], self.total[kept], self.prefix[keep]
        self.bonus, self.attention = self.bonus[kept], self.attention[keep]
        self.guide = None if self.guide is None else self.guide[kept]
        return keep

    def _members(self, images: np.ndarray) -> np.ndarray:
        return (images[:, None] * self.width + np.arange(self.width)).reshape(-1)

    def result(self, longest: int) -> Captions:
        """The captions of all images, at most `longest` tokens each, best first."""
        if len(self.rows):
            self._store(np.ones(len(self.rows), bool), np.zeros(0, np.int64))
        tokens = np.zeros((self.images, self.width, longest), np.int64)
        total = np.zeros((self.images, self.width), np.float32)
        regions = self.finished[0][3].shape[-1] if self.finished else 0
        attention = np.zeros((self.images, self.width, longest, regions), np.float32)
        for rows, prefix, scores, part in self.finished:
            order = np.argsort(-scores, 1, kind="stable")  # best first
            each = (len(rows), self.width)
            tokens[rows, :, : prefix.shape[1]] = np.take_along_axis(prefix.reshape(*each, -1), order[:, :, None], 1)
            total[rows] = np.take_along_axis(scores, order, 1)
            part = part.reshape(*each, *part.shape[1:])
            attention[rows, :, : prefix.shape[1]] = np.take_along_axis(part, order[:, :, None, None], 1)
        # If the vocabulary allows fewer captions than the beam is wide, the remaining rows are END alone.
        tokens[np.isinf(total)] = [END] + [PAD] * (longest - 1)
        used = int((tokens != PAD).any((0, 1)).sum())
        return Captions(
            tokens.reshape(-1, longest)[:, :used],
            total.reshape(-1),
            attention.reshape(-1, longest, regions)[:, :used],
        )


def without(done: np.ndarray) -> np.ndarray:
    """Images that are not done [I], in an order in which few change places: the last ones fill the gaps.

    >>> without(np.asarray([False, True, False, True, False, False])).tolist()
    [0, 5, 2, 4]
    """
    left = int((~done).sum())
    order = np.arange(left)
    order[done[:left]] = ((~done[left:]).nonzero()[0] + left)[::-1]
    return order


def _best(rank: np.ndarray, count: int) -> np.ndarray:
    """Columns of the highest `count` values of each row, best first; of equal values the first."""
    return np.argsort(-rank, 1, kind="stable")[:, :count]
