"""METEOR's search for the best alignment: a beam of 40 over the reference's words, for all pairs at once.

Matches that overlap with no other are certain. The remaining words need a decision; between them lie stretches of
settled words. A stretch changes all paths of a pair alike, except that it may close a path's current chunk. Paths are
ordered by matched words (exact ones count, paraphrases half, rounded down), then fewer chunks, then less distance. Ties
keep the order in which METEOR creates the paths.
"""

from dataclasses import dataclass

import numpy as np

from tellapart.metrics.captions.meteor.matches import Matches
from tellapart.metrics.captions.meteor.settled import GAP, LONGEST, Settled, settle
from tellapart.metrics.captions.meteor.spans import EXACT

BEAM = 40


@dataclass(frozen=True)
class Alignments:
    """Per pair: chunks, and matched words as eight counts of 8 bits (2 x module, + 1 for function words)."""

    chunks: np.ndarray
    candidate_counts: np.ndarray
    reference_counts: np.ndarray


def best_alignments(
    matches: Matches, lengths: np.ndarray, candidate_counts: np.ndarray, reference_counts: np.ndarray
) -> Alignments:
    """The best alignment of each pair; lengths are the references', counts are those of each match."""
    pairs = len(lengths)
    if len(matches.pair) == 0:
        return Alignments(np.zeros(pairs, np.int64), np.zeros(pairs, np.uint64), np.zeros(pairs, np.uint64))
    settled = settle(matches, lengths)
    chunks = settled.chunks.copy()
    totals = [np.zeros(pairs, np.uint64), np.zeros(pairs, np.uint64)]
    for total, counts in zip(totals, (candidate_counts, reference_counts)):
        np.add.at(total, matches.pair[settled.certain], counts[settled.certain])
    open_matches = ~settled.certain
    search = _Search(
        Matches(*(getattr(matches, name)[open_matches] for name in Matches.__dataclass_fields__)),
        candidate_counts[open_matches],
        reference_counts[open_matches],
        settled,
    )
    first = np.searchsorted(settled.decision_pair, np.arange(pairs + 1))
    order = np.argsort(np.diff(first), kind="stable")
    for chosen in np.array_split(order, max(pairs // 4096, 1)):
        found = search.run(chosen, first[chosen], first[chosen + 1])
        chunks[chosen] += found.chunks
        totals[0][chosen] += found.candidate_counts
        totals[1][chosen] += found.reference_counts
    return Alignments(chunks, totals[0], totals[1])


class _Paths:
    """The beams of many pairs, sorted by pair and in METEOR's order."""

    FIELDS = ("pair", "score", "chunks", "distance", "last", "used", "used_reference", "counts", "reference_counts")

    def __init__(self, *columns: np.ndarray) -> None:
        (self.pair, self.score, self.chunks, self.distance, self.last) = columns[:5]
        (self.used, self.used_reference, self.counts, self.reference_counts) = columns[5:]

    def take(self, index: np.ndarray) -> "_Paths":
        """The paths at `index`."""
        return _Paths(*(getattr(self, name)[index] for name in self.FIELDS))

    @classmethod
    def fresh(cls, pairs: int) -> "_Paths":
        """One empty path per pair."""
        small = [np.zeros(pairs, np.int64) for _ in range(3)]
        return cls(np.arange(pairs), *small, np.full(pairs, GAP), *(np.zeros(pairs, np.uint64) for _ in range(4)))

    def order(self, closed: np.ndarray) -> np.ndarray:
        """The order, best first within each pair; on ties, paths first whose chunk was just closed."""
        index = np.arange(len(self.pair))
        widths = [int(self.distance.max(initial=0)).bit_length(), len(index).bit_length()]
        key = (self.pair << 8 | (255 - self.score)) << 7 | self.chunks
        if int(key.max(initial=0)).bit_length() + sum(widths) + 1 < 63:
            key = ((key << widths[0] | self.distance) << 1 | ~closed) << widths[1] | index
            return np.sort(key) & ((1 << widths[1]) - 1)
        return np.lexsort((~closed, self.distance, key))


class _Search:
    def __init__(self, matches: Matches, counts: np.ndarray, reference_counts: np.ndarray, settled: Settled) -> None:
        self.settled = settled
        self.counts, self.reference_counts = counts, reference_counts
        self.start, self.end = matches.candidate_start, matches.candidate_start + matches.candidate_length
        self.distance = np.abs(matches.start - matches.candidate_start)
        exact = matches.module == EXACT
        self.gain = np.where(exact, 2, matches.candidate_length // 2 + matches.length // 2)
        one = np.uint64(1)
        self.mask, self.reference_mask = (
            ((one << length.astype(np.uint64)) - one) << start.astype(np.uint64)
            for start, length in (
                (matches.candidate_start, matches.candidate_length),
                (matches.start, matches.length),
            )
        )
        key = matches.pair * (LONGEST + 1) + matches.start
        decision = settled.decision_pair * (LONGEST + 1) + settled.decision_word
        self.first = np.searchsorted(key, decision)
        self.number = np.searchsorted(key, decision, side="right") - self.first

    def run(self, pairs: np.ndarray, first: np.ndarray, stop: np.ndarray) -> Alignments:
        """The alignments of the pairs with decisions between first and stop, without the certain matches."""
        result = [np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.uint64), np.zeros(len(pairs), np.uint64)]
        paths = _Paths.fresh(len(pairs))
        for step in range(int((stop - first).max(initial=0))):
            paths = self._cut(paths, len(pairs))
            decision = (first + step)[paths.pair]
            is_end = (stop - 1)[paths.pair] == decision
            closed = self._stretch(paths, decision, is_end)
            order = paths.order(closed)
            paths, decision, is_end = paths.take(order), decision[order], is_end[order]
            finished = np.flatnonzero(is_end)
            best = finished[np.append(True, paths.pair[finished][1:] != paths.pair[finished][:-1])[: len(finished)]]
            done = paths.pair[best]
            result[0][done] = paths.chunks[best] + (paths.last[best] != GAP)
            result[1][done], result[2][done] = paths.counts[best], paths.reference_counts[best]
            active = np.flatnonzero(~is_end)
            paths = self._decide(paths.take(active), decision[active])
        return Alignments(*result)

    def _cut(self, paths: _Paths, pairs: int) -> _Paths:
        """The best 40 paths of each pair."""
        sizes = np.bincount(paths.pair, minlength=pairs)
        if sizes.max(initial=0) <= BEAM:
            return paths
        order = paths.order(np.zeros(len(paths.pair), bool))
        rank = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[paths.pair[order]]
        return paths.take(order[rank < BEAM])

    def _stretch(self, paths: _Paths, decision: np.ndarray, is_end: np.ndarray) -> np.ndarray:
        """Move all paths over the settled words before a decision, and return whose chunk was closed.

        At the end an open chunk is closed; after a stretch that is the same for all paths, and the caller does it.
        """
        opens = self.settled.stretch_opens[decision]
        has_stretch = opens != -2
        open_before = paths.last != GAP
        closed: np.ndarray = open_before & np.where(has_stretch, opens != paths.last, is_end)
        paths.chunks = paths.chunks + closed
        ends = np.where(is_end, GAP, paths.last)
        paths.last = np.where(has_stretch, self.settled.stretch_ends[decision], ends)
        return closed

    def _decide(self, paths: _Paths, decision: np.ndarray) -> _Paths:
        """The paths extended by each match that is still possible, and by none."""
        word = self.settled.decision_word[decision].astype(np.uint64)
        inside = (paths.used_reference >> word & np.uint64(1)).astype(bool)  # of a match chosen before
        number = np.where(inside, 0, self.number[decision])
        total = number + 1
        stop = np.cumsum(total)
        parent = np.repeat(np.arange(len(total)), total)
        place = np.arange(len(parent)) - (stop - total)[parent]
        takes = place < number[parent]
        match = np.where(takes, self.first[decision][parent] + place, 0)
        if len(self.mask) == 0:
            free = ~takes
        else:
            free = (paths.used[parent] & self.mask[match]) == 0
            free &= (paths.used_reference[parent] & self.reference_mask[match]) == 0
            free |= ~takes
        parent, match, takes = parent[free], match[free], takes[free]
        child = paths.take(parent)
        skips = ~takes & ~inside[parent]
        taken = np.flatnonzero(takes)
        with_match = match[taken]
        # METEOR adds a match's distance not to the path that takes it but to the one it branches from: later branches,
        # and the one without a match, include it.
        step = np.zeros(len(parent), np.int64)
        step[taken] = self.distance[with_match]
        before = np.cumsum(step) - step
        begins = np.append(True, parent[1:] != parent[:-1])[: len(parent)]
        child.distance = child.distance + before - before[begins][np.cumsum(begins) - 1]
        closes = (child.last != GAP) & skips
        closes[taken] = (child.last[taken] != GAP) & (self.start[with_match] != child.last[taken])
        child.chunks = child.chunks + closes
        child.last[skips] = GAP
        child.last[taken] = self.end[with_match]
        child.score[taken] += self.gain[with_match]
        child.used[taken] |= self.mask[with_match]
        child.used_reference[taken] |= self.reference_mask[with_match]
        child.counts[taken] += self.counts[with_match]
        child.reference_counts[taken] += self.reference_counts[with_match]
        return child
