"""How much a caption agrees with the likely captions of its image.

Choosing the caption with the highest mean similarity to samples is minimum Bayes risk decoding (Kumar & Byrne 2004).
The similarity here is a small CIDEr (Vedantam et al. 2015): the cosine of counts of words, weighted by how rare they
are, and the same for pairs of words, of which the rarer word gives the weight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise

import numpy as np

UNSEEN = 8.0
"""Rarity of a word that is not listed."""

Counts = dict[Hashable, float]


def agreements(captions: Sequence[str], typical: Sequence[str], rarity: Mapping[str, float]) -> list[float]:
    """The mean similarity of each caption to the typical ones, 0 … 1. rarity: -ln of a word's rate, at least 0.

    >>> agreements(["a dog", "a cat"], ["a dog", "a dog"], {"a": 0.0, "dog": 2.0, "cat": 3.0})
    [1.0, 0.0]
    """
    if not typical:
        return [0.0] * len(captions)
    counted = [_counted(caption.split(), rarity) for caption in (*captions, *typical)]
    found = np.zeros((len(captions), len(typical)))
    for part in (0, 1):  # words, then pairs
        rows = _unit_rows([counts[part] for counts in counted])
        found += rows[: len(captions)] @ rows[len(captions) :].T / 2
    return [float(value) for value in found.mean(1)]


def _counted(words: Sequence[str], rarity: Mapping[str, float]) -> tuple[Counts, Counts]:
    """Weighted counts of words and of pairs."""
    weights = {word: rarity.get(word, UNSEEN) for word in words}
    single: Counts = {word: count * weights[word] for word, count in Counter(words).items()}
    pairs: Counts = {
        pair: count * max(weights[pair[0]], weights[pair[1]]) for pair, count in Counter(pairwise(words)).items()
    }
    return single, pairs


def _unit_rows(counts: Sequence[Counts]) -> np.ndarray:
    """Counts as rows of length one [C, N], or 0 for a caption that counts nothing."""
    place = {key: column for column, key in enumerate(dict.fromkeys(key for one in counts for key in one))}
    rows = np.zeros((len(counts), len(place)))
    for row, one in enumerate(counts):
        rows[row, [place[key] for key in one]] = list(one.values())
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
