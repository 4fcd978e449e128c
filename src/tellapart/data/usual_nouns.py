"""Which vocabulary words are usually nouns: for sentences that a model wrote and no tagger has read.

A word is a noun when more than half of its occurrences in the pack's captions are marked as one. Released code tags
generated sentences with nltk instead; this needs no tagger where the model is trained, and works on word ids alone.
"""

from __future__ import annotations

import numpy as np

from tellapart.data.pack import Pack
from tellapart.text.vocabulary import SPECIAL


def usual_nouns(pack: Pack) -> np.ndarray:
    """[V] bool."""
    words = len(pack.vocabulary)
    nouns = np.asarray(pack.column("nouns").values, dtype=np.float64)
    tokens = np.asarray(pack.tokens)
    often = np.bincount(tokens, weights=nouns, minlength=words) > 0.5 * np.bincount(tokens, minlength=words)
    often[: len(SPECIAL)] = False
    return often
