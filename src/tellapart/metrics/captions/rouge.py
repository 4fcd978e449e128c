"""ROUGE-L (Lin 2004) as the COCO caption script computes it: beta 1.2, separate maxima of precision and recall."""

from collections.abc import Sequence

import numpy as np

from tellapart.metrics.captions.encoded import Encoded, batches, columns, encode
from tellapart.metrics.captions.values import Score

BETA = 1.2


def rouge_l(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """ROUGE-L of tokenised captions; the corpus value is the mean.

    The script splits at single spaces, so an empty caption is one empty word.

    >>> score = rouge_l(["a dog runs"], [["a brown dog runs", "dogs"]])
    >>> round(score.corpus, 4)  # longest common subsequence 3: precision 3/3, recall 3/4
    0.8356
    """
    return rouge_l_of(encode(candidates, references, separator=" "))


def rouge_l_of(encoded: Encoded) -> Score:
    """ROUGE-L of captions encoded with the separator " "."""
    each = np.zeros(int(encoded.image[-1]) + 1)
    for candidates, references in batches(encoded):
        images = encoded.image[candidates]
        position = np.searchsorted(images, encoded.image[references])
        starts = np.searchsorted(position, np.arange(len(candidates)))
        common = common_subsequence(
            columns(encoded, candidates, filler=-1)[:, position], columns(encoded, references, filler=-2)
        )
        precision = np.maximum.reduceat(common / encoded.lengths[candidates][position], starts)
        recall = np.maximum.reduceat(common / encoded.lengths[references], starts)
        denominator = recall + BETA**2 * precision
        each[images] = (1 + BETA**2) * precision * recall / np.where(denominator == 0, 1, denominator)
    return Score(float(np.mean(each)), each)


def common_subsequence(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """[n]: length of the longest common subsequence of each column of `first` [T,n] and `second` [R,n].

    Dynamic programming, for all columns at once.
    """
    kind = np.uint8 if min(len(first), len(second)) < 255 else np.uint16
    row = np.zeros((len(second) + 1, second.shape[1]), kind)
    for word in first:
        grown = row[:-1] + (second == word)
        for before, here, longer in zip(row[:-1], row[1:], grown):
            np.maximum(here, longer, out=here)
            np.maximum(here, before, out=here)
    longest: np.ndarray = row[-1]
    return longest
