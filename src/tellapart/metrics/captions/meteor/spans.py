"""Words and phrases of captions that METEOR matches, and which kinds of them may match."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tellapart.metrics.captions.encoded import Encoded
from tellapart.metrics.captions.meteor.stemmer import stem
from tellapart.metrics.captions.meteor.tables import Paraphrases, Words
from tellapart.metrics.captions.ngrams import levels

EXACT, STEM, SYNONYM, PARAPHRASE, PARAPHRASE_BACK = range(5)


@dataclass(frozen=True)
class Spans:
    """Words and phrases of all captions, in order of their captions."""

    caption: np.ndarray
    start: np.ndarray
    length: np.ndarray
    kind: np.ndarray


@dataclass(frozen=True)
class Relations:
    """The ways in which two kinds of spans match, sorted by key: candidate kind * kinds + reference kind."""

    keys: np.ndarray
    way: np.ndarray
    rank: np.ndarray
    """Index of a paraphrase in the table's list for its phrase."""


def find_spans(encoded: Encoded, names: Sequence[str], table: Paraphrases) -> tuple[Spans, np.ndarray, int]:
    """The words and the phrases of the table as spans, the phrase of each kind (-1: none), and the number of words."""
    own = np.array([table.words.get(word, -1) for word in names], np.int64)
    caption_of = np.repeat(np.arange(len(encoded.lengths)), encoded.lengths)
    found: list[tuple[np.ndarray, np.ndarray, int]] = []
    phrases: list[np.ndarray] = []
    node = np.zeros(0, np.int64)
    offset = 0
    longest = sum(len(codes) > 0 for codes in table.codes)
    for n, level in enumerate(levels(encoded.words, encoded.lengths, longest), start=1):
        places = level.places[level.is_new]  # one position per kind
        last = own[encoded.words[places + n - 1]]
        before = node[level.prefix[places]] if n > 1 else np.zeros(len(places), np.int64)
        known = np.flatnonzero((before >= 0) & (last >= 0))
        code = before[known] * len(table.words) + last[known]
        codes = table.codes[n - 1]
        at = np.minimum(np.searchsorted(codes, code), len(codes) - 1)
        hit = codes[at] == code
        node = np.full(len(places), -1, np.int64)
        node[known[hit]] = at[hit]
        phrase = np.where(node >= 0, table.phrase[n - 1][np.maximum(node, 0)], -1)
        keep = np.ones(len(phrase), bool) if n == 1 else phrase >= 0
        number = np.cumsum(keep) - 1 + offset
        kept = keep[level.kinds]
        found.append((level.places[kept], number[level.kinds[kept]], n))
        phrases.append(phrase[keep])
        offset += int(keep.sum())
        if not (node >= 0).any():
            break
    place = np.concatenate([places for places, _, _ in found])
    kind = np.concatenate([kinds for _, kinds, _ in found])
    length = np.concatenate([np.full(len(places), n) for places, _, n in found])
    order = np.argsort(caption_of[place], kind="stable")
    place, kind, length = place[order], kind[order], length[order]
    caption = caption_of[place]
    return Spans(caption, place - encoded.starts[caption], length, kind), np.concatenate(phrases), len(phrases[0])


def find_relations(
    names: Sequence[str], words: int, phrase_of_kind: np.ndarray, tables: Words, table: Paraphrases
) -> tuple[Relations, int]:
    """The matches between kinds, and the number of kinds."""
    kinds = len(phrase_of_kind)
    # Level 1 of `levels` numbers words in the order of the vocabulary, without those that do not occur.
    present = names[len(names) - words :]
    stems: dict[str, list[int]] = {}
    synsets: dict[int, list[int]] = {}
    for kind, word in enumerate(present):
        stems.setdefault(stem(word), []).append(kind)
        for number in tables.synonym_sets(word):
            synsets.setdefault(number, []).append(kind)
    parts = []
    for way, groups in ((STEM, stems.values()), (SYNONYM, synsets.values())):
        pairs = np.array([pair for group in groups for pair in combinations(group, 2)], np.int64).reshape(-1, 2)
        keys = np.unique(np.concatenate([pairs[:, 0] * kinds + pairs[:, 1], pairs[:, 1] * kinds + pairs[:, 0]]))
        parts.append((keys, np.full(len(keys), way), np.zeros(len(keys), np.int64)))
    source, target, rank = _paraphrase_pairs(phrase_of_kind, table)
    parts.append((target * kinds + source, np.full(len(rank), PARAPHRASE), rank))
    parts.append((source * kinds + target, np.full(len(rank), PARAPHRASE_BACK), rank))
    keys = np.concatenate([part[0] for part in parts])
    order = np.argsort(keys, kind="stable")
    ways, ranks = (np.concatenate([part[k] for part in parts])[order] for k in (1, 2))
    return Relations(keys[order], ways, ranks), kinds


def _paraphrase_pairs(phrase_of_kind: np.ndarray, table: Paraphrases) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(kind, kind of its paraphrase, rank among its paraphrases) where both phrases occur in the text."""
    kind_of_phrase = np.full(len(table.starts), -1, np.int32)
    known = np.flatnonzero(phrase_of_kind >= 0)
    kind_of_phrase[phrase_of_kind[known]] = known
    begins = table.starts[phrase_of_kind[known]].astype(np.int64)
    counts = table.starts[phrase_of_kind[known] + 1] - begins
    source = np.repeat(known, counts)
    rank = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    target = kind_of_phrase[table.targets[np.repeat(begins, counts) + rank]]
    both = target >= 0
    return source[both], target[both].astype(np.int64), rank[both]
