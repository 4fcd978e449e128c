"""Numbering n-grams without strings: an n-gram is its first n-1 words' number and its last word."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Level:
    """All n-grams of one length, those of a kind together, in the order of the text."""

    places: np.ndarray
    """[G] where each n-gram starts among the words."""
    is_new: np.ndarray
    """[G] whether it is the first of its kind."""
    kinds: np.ndarray
    """[G] the number of its kind, counted in sorted order."""
    prefix: np.ndarray
    """[W] kind of the (n-1)-gram that starts at each place (meaningless for n = 1)."""


def levels(words: np.ndarray, lengths: np.ndarray, order: int) -> Iterator[Level]:
    """The n-grams of length 1 to `order` of captions laid end to end, none across two captions.

    One level's order is the next one's by prefix; a stable sort by the last word alone then brings equal n-grams
    together. For fewer than 65,536 words that is a radix sort, linear in the text.
    """
    ends = np.repeat(np.cumsum(lengths), lengths)
    room = np.minimum(ends - np.arange(len(words)), order).astype(np.uint8)  # words from here to the caption's end
    narrow = words.astype(np.uint16) if int(words.max(initial=0)) < 1 << 16 else words
    prefix = np.zeros(len(words), np.int32)
    places = np.arange(len(words))
    for n in range(1, order + 1):
        if n > 1:
            places = places[room[places] >= n]
        last = narrow[places + n - 1]
        sorting = np.argsort(last, kind="stable")
        places, last = places[sorting], last[sorting]
        before = prefix[places]
        is_new = np.ones(len(places), bool)
        is_new[1:] = (last[1:] != last[:-1]) | (before[1:] != before[:-1])
        kinds = np.cumsum(is_new, dtype=np.int32) - np.int32(1)
        yield Level(places, is_new, kinds, prefix)
        prefix = np.zeros(len(words), np.int32)
        prefix[places] = kinds
