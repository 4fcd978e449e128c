"""Words that name a side of an image: a mirrored image has "left" where the image has "right"."""

from __future__ import annotations

import numpy as np

from tellapart.text.vocabulary import Vocabulary

PAIRS = (("left", "right"), ("leftmost", "rightmost"), ("lefthand", "righthand"))


def swap_table(vocabulary: Vocabulary) -> np.ndarray:
    """[V]: each id itself, but those of "left" and "right" exchanged, for captions of mirrored images.

    >>> swap_table(Vocabulary.from_words(["left", "a", "right"])).tolist()
    [0, 1, 2, 3, 6, 5, 4]
    """
    table, ids = np.arange(len(vocabulary)), vocabulary.ids
    for left, right in PAIRS:
        if left in ids and right in ids:
            table[ids[left]], table[ids[right]] = ids[right], ids[left]
    return table
