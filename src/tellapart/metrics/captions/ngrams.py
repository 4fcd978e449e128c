"""N-grams as numbers: an n-gram is the number of its first n-1 words and its last word."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Level:
    """All n-grams of one length, sorted by kind, and within a kind by position."""

    places: np.ndarray
    """[G] index of each n-gram's first word."""
    is_new: np.ndarray
    """[G] True for the first n-gram of each kind."""
    kinds: np.ndarray
    """[G] number of each n-gram's kind."""
    prefix: np.ndarray
    """[W] kind of the (n-1)-gram that starts at each word (undefined for n = 1)."""


def levels(words: np.ndarray, lengths: np.ndarray, order: int) -> Iterator[Level]:
    """The n-grams of length 1 to `order` of concatenated captions, none across two captions.

    Each level is sorted by prefix for the next one, where a stable sort by the last word alone makes equal n-grams
    adjacent. For fewer than 65,536 words that is a radix sort, linear in the text.
    """
    ends = np.repeat(np.cumsum(lengths), lengths)
    remaining = np.minimum(ends - np.arange(len(words)), order).astype(np.uint8)  # words from here to the caption's end
    narrow = words.astype(np.uint16) if int(words.max(initial=0)) < 1 << 16 else words
    prefix = np.zeros(len(words), np.int32)
    places = np.arange(len(words))
    for n in range(1, order + 1):
        if n > 1:
            places = places[remaining[places] >= n]
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
