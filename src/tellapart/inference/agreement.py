"""How much a caption agrees with the likely captions of its image.

Choosing the caption with the highest mean similarity to samples is minimum Bayes risk decoding (Kumar & Byrne 2004).
The similarity here is a small CIDEr (Vedantam et al. 2015): the cosine of counts of words, weighted by how rare they
are, and the same for pairs of words, of which the rarer word gives the weight.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise

UNSEEN = 8.0
"""Rarity of a word that is not listed."""

Counts = dict[Hashable, float]


def agreements(captions: Sequence[str], typical: Sequence[str], rarity: Mapping[str, float]) -> list[float]:
    """The mean similarity of each caption to the typical ones, 0 … 1. rarity: -ln of a word's rate, at least 0.

    >>> agreements(["a dog", "a cat"], ["a dog", "a dog"], {"a": 0.0, "dog": 2.0, "cat": 3.0})
    [1.0, 0.0]
    """
    others = [_counted(caption.split(), rarity) for caption in typical]
    found = []
    for caption in captions:
        own = _counted(caption.split(), rarity)
        values = [(_cosine(own[0], other[0]) + _cosine(own[1], other[1])) / 2 for other in others]
        found.append(sum(values) / len(values) if values else 0.0)
    return found


def _counted(words: Sequence[str], rarity: Mapping[str, float]) -> tuple[Counts, Counts]:
    """Weighted counts of words and of pairs."""
    weights = {word: rarity.get(word, UNSEEN) for word in words}
    single: Counts = {word: count * weights[word] for word, count in Counter(words).items()}
    pairs: Counts = {
        pair: count * max(weights[pair[0]], weights[pair[1]]) for pair, count in Counter(pairwise(words)).items()
    }
    return single, pairs


def _cosine(one: Counts, other: Counts) -> float:
    length = math.sqrt(sum(value**2 for value in one.values()) * sum(value**2 for value in other.values()))
    return sum(value * other[key] for key, value in one.items() if key in other) / length if length else 0.0
