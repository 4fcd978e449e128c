"""All METEOR matches between the words of a candidate and of a reference, for all pairs of captions at once.

Words and phrases ("spans") are numbered over the whole text. Which spans may match (same stem, a common synonym set, a
paraphrase in the table) is computed once for the distinct spans. A hash table of bits then finds quickly which spans of
a candidate and its reference may match.
"""

from dataclasses import dataclass

import numpy as np

from tellapart.metrics.captions.encoded import Encoded
from tellapart.metrics.captions.meteor.spans import EXACT, PARAPHRASE, Relations, Spans, find_relations, find_spans
from tellapart.metrics.captions.meteor.tables import Paraphrases, Words

BITS = 24


@dataclass(frozen=True)
class Matches:
    """Matches sorted by pair, by start in the reference, and then in the order in which METEOR tries them."""

    pair: np.ndarray
    start: np.ndarray
    """First word in the reference."""
    length: np.ndarray
    candidate_start: np.ndarray
    candidate_length: np.ndarray
    module: np.ndarray
    """0 exact, 1 stem, 2 synonym, 3 paraphrase."""


def find_matches(encoded: Encoded, tables: Words, table: Paraphrases) -> Matches:
    """All matches of each reference with its candidate; pairs are numbered by reference."""
    names = list(encoded.vocabulary)
    spans, phrase_of_kind, words = find_spans(encoded, names, table)
    relations, kinds = find_relations(names, words, phrase_of_kind, tables, table)
    related = np.zeros(kinds, bool)
    related[relations.keys // kinds] = True
    related[relations.keys % kinds] = True
    useful = (spans.length == 1) | related[spans.kind]
    spans = Spans(spans.caption[useful], spans.start[useful], spans.length[useful], spans.kind[useful])
    return _join(encoded, spans, relations, kinds)


def _join(encoded: Encoded, spans: Spans, relations: Relations, kinds: int) -> Matches:
    """The matches between the spans of every reference and of its candidate."""
    keys, first, counts = np.unique(relations.keys, return_index=True, return_counts=True)
    random = np.random.default_rng(0).integers(0, 1 << BITS, (2, kinds), np.int32)
    bits = np.zeros(1 << BITS, bool)
    bits[random[0][keys // kinds] ^ random[1][keys % kinds]] = True
    slot = np.zeros(1 << BITS, np.int32)
    slot[random[0][keys // kinds] ^ random[1][keys % kinds]] = np.arange(len(keys), dtype=np.int32)
    begins = np.searchsorted(spans.caption, np.arange(len(encoded.lengths) + 1))
    references = np.flatnonzero(encoded.is_reference)
    candidates = np.flatnonzero(~encoded.is_reference)[encoded.image[references]]
    sizes = np.stack([begins[candidates + 1] - begins[candidates], begins[references + 1] - begins[references]])
    order = np.argsort(sizes.max(0), kind="stable")
    parts = [np.zeros((3, 0), np.int64)]  # none where every candidate is empty
    for chosen in np.array_split(order, max(len(order) // 1500, 1)):
        here = [begins[candidates[chosen]], begins[references[chosen]]]
        steps = [np.arange(int(sizes[side][chosen].max(initial=0)))[:, None] for side in (0, 1)]
        index = [np.minimum(here[side] + steps[side], len(spans.kind) - 1) for side in (0, 1)]
        inside = [steps[side] < sizes[side][chosen] for side in (0, 1)]
        kind = [spans.kind[index[side]] for side in (0, 1)]  # [spans of a caption, pairs]
        hashed = [random[side][kind[side]] for side in (0, 1)]
        for row in range(len(steps[0])):
            maybe = bits[hashed[0][row] ^ hashed[1]] | (kind[0][row] == kind[1])
            maybe &= inside[1] & inside[0][row]
            second, column = np.nonzero(maybe)
            parts.append(np.stack([chosen[column], index[0][row, column], index[1][second, column]]))
    pair, one, two = np.concatenate(parts, axis=1)
    key = spans.kind[one] * kinds + spans.kind[two]
    at = slot[random[0][spans.kind[one]] ^ random[1][spans.kind[two]]].astype(np.int64)
    if len(keys):
        collided = np.flatnonzero(keys[at] != key)
        at[collided] = np.minimum(np.searchsorted(keys, key[collided]), len(keys) - 1)
        hit = np.flatnonzero(keys[at] == key)
    else:
        hit = np.zeros(0, np.int64)
    equal = np.flatnonzero((spans.kind[one] == spans.kind[two]) & (spans.length[one] == 1))
    repeats = counts[at[hit]]
    entry = np.repeat(first[at[hit]], repeats) + np.arange(int(repeats.sum()))
    entry -= np.repeat(np.cumsum(repeats) - repeats, repeats)
    which = np.concatenate([equal, np.repeat(hit, repeats)])
    way = np.concatenate([np.full(len(equal), EXACT), relations.way[entry]])
    rank = np.concatenate([np.zeros(len(equal), np.int64), relations.rank[entry]])
    return _in_order(
        encoded,
        references,
        candidates=candidates,
        spans=spans,
        pair=pair[which],
        one=one[which],
        two=two[which],
        way=way,
        rank=rank,
    )


def _in_order(
    encoded: Encoded,
    references: np.ndarray,
    candidates: np.ndarray,
    spans: Spans,
    pair: np.ndarray,
    one: np.ndarray,
    two: np.ndarray,
    way: np.ndarray,
    rank: np.ndarray,
) -> Matches:
    """The matches in METEOR's order; between equal captions only exact ones."""
    same = _identical(encoded, references, candidates)
    keep = ~same[pair] | (way == EXACT)
    pair, one, two, way, rank = pair[keep], one[keep], two[keep], way[keep], rank[keep]
    begin = spans.start[one]
    forward = (spans.length[two], rank, begin)
    backward = (begin, spans.length[one], rank)
    detail = [np.where(way == PARAPHRASE, there, back) for there, back in zip(forward, backward)]
    order = np.lexsort((*reversed(detail), way, spans.start[two], pair))
    one, two = one[order], two[order]
    return Matches(
        pair[order],
        spans.start[two],
        spans.length[two],
        spans.start[one],
        spans.length[one],
        np.minimum(way[order], PARAPHRASE),
    )


def _identical(encoded: Encoded, references: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """[pairs]: whether reference and candidate have the same words."""
    lengths = encoded.lengths[references]
    same: np.ndarray = lengths == encoded.lengths[candidates]
    pairs = np.flatnonzero(same & (lengths > 0))
    counts = lengths[pairs]
    step = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    first = np.repeat(encoded.starts[references[pairs]], counts) + step
    second = np.repeat(encoded.starts[candidates[pairs]], counts) + step
    different = encoded.words[first] != encoded.words[second]
    same[pairs] = np.bincount(np.repeat(np.arange(len(pairs)), counts), different, len(pairs)) == 0
    return same
