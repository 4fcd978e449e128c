"""Which vocabulary words are usually nouns, for generated captions, which no tagger has read.

A word is a noun if more than half of its occurrences in the pack's captions are marked as one. Released code tags
generated captions with nltk instead; this needs no tagger during training, only word ids.
"""

from __future__ import annotations

import numpy as np

from tellapart.data.pack import Pack
from tellapart.text.vocabulary import SPECIAL


def usual_nouns(pack: Pack) -> np.ndarray:
    """[V] bool, True for words that are usually nouns."""
    words = len(pack.vocabulary)
    nouns = np.asarray(pack.column("nouns").values, dtype=np.float64)
    tokens = np.asarray(pack.tokens)
    often = np.bincount(tokens, weights=nouns, minlength=words) > 0.5 * np.bincount(tokens, minlength=words)
    often[: len(SPECIAL)] = False
    return often
