"""BLEU-1 to BLEU-4 (Papineni et al. 2002) as the COCO caption script computes them: closest reference length, and no
smoothing except two tiny constants that keep the quotients finite."""

from collections.abc import Sequence

import numpy as np

from tellapart.metrics.captions.encoded import Encoded, batches, columns, encode
from tellapart.metrics.captions.values import CorpusSums, Score

TINY = 1e-15
SMALL = 1e-9


def bleu(candidates: Sequence[str], references: Sequence[Sequence[str]], order: int = 4) -> list[Score]:
    """BLEU-1 to BLEU-`order` of tokenised captions.

    >>> two = bleu(["a dog runs"], [["a dog runs fast", "the dog is running"]], order=2)
    >>> [round(score.corpus, 4) for score in two]  # all words and pairs found; exp(1 - 4/3) for being short
    [0.7165, 0.7165]
    """
    return bleu_of(encode(candidates, references), order)


def bleu_of(encoded: Encoded, order: int = 4) -> list[Score]:
    """BLEU-1 to BLEU-`order` of encoded captions."""
    correct, guesses, lengths, reference_lengths = bleu_counts(encoded, order)
    each = bleu_from_counts(correct, guesses, lengths, reference_lengths)
    sums = np.vstack([correct, guesses, lengths, reference_lengths]).T  # [images, 2 * order + 2]
    corpus = _from_sums(sums.sum(0, keepdims=True))
    return [
        Score(float(corpus[k, 0]), each[k], CorpusSums(sums, lambda drawn, k=k: _from_sums(drawn)[k]))  # type: ignore[misc]
        for k in range(order)
    ]


def _from_sums(sums: np.ndarray) -> np.ndarray:
    """BLEU [order, corpora] from summed counts [corpora, 2 * order + 2]."""
    order = (sums.shape[1] - 2) // 2
    return bleu_from_counts(sums[:, :order].T, sums[:, order:-2].T, sums[:, -2], sums[:, -1])


def bleu_counts(encoded: Encoded, order: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Per image: matched and generated n-grams [order, n], words, and words of the closest reference [n]."""
    images = int(encoded.image[-1]) + 1
    correct = np.zeros((order, images))
    reference_lengths = np.zeros(images)
    for candidates, references in batches(encoded):
        chosen = encoded.image[candidates]
        correct[:, chosen] = clipped_counts(encoded, candidates, references, order)
        reference_lengths[chosen] = closest_lengths(encoded, candidates, references)
    lengths = encoded.lengths[~encoded.is_reference].astype(float)
    guesses = np.maximum(lengths - np.arange(order)[:, None], 0)  # [order, images]
    return correct, guesses, lengths, reference_lengths


def bleu_from_counts(
    correct: np.ndarray, guesses: np.ndarray, length: np.ndarray, reference_lengths: np.ndarray
) -> np.ndarray:
    """BLEU [order, n]: geometric means of the clipped precisions, times the brevity penalty."""
    precisions = np.cumprod((correct + TINY) / (guesses + SMALL), axis=0)
    means = precisions ** (1 / np.arange(1, len(correct) + 1))[:, None]
    ratio = (length + TINY) / (reference_lengths + SMALL)
    return means * np.where(ratio < 1, np.exp(1 - 1 / np.minimum(ratio, 1)), 1)


def closest_lengths(encoded: Encoded, candidates: np.ndarray, references: np.ndarray) -> np.ndarray:
    """[n]: the reference length closest to each candidate's, the shorter one of a tie."""
    position, starts = _owners(encoded, candidates, references)
    lengths = encoded.lengths[references]
    distance = np.abs(lengths - encoded.lengths[candidates][position])
    scale = int(encoded.lengths.max(initial=0)) + 1
    return np.minimum.reduceat(distance * scale + lengths, starts) % scale


def _owners(encoded: Encoded, candidates: np.ndarray, references: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each reference the index of its candidate; for each candidate the index of its first reference."""
    position = np.searchsorted(encoded.image[candidates], encoded.image[references])
    return position, np.searchsorted(position, np.arange(len(candidates)))


def clipped_counts(encoded: Encoded, candidates: np.ndarray, references: np.ndarray, order: int) -> np.ndarray:
    """[order, n]: n-grams of each candidate that its references contain, each at most as often as one of them does.

    An n-gram of the candidate counts if it occurs fewer times before that position than one reference contains it.
    Summed over positions this is the minimum of both counts.
    """
    position, starts = _owners(encoded, candidates, references)
    candidate_words = columns(encoded, candidates, filler=-1)  # [T,n]
    reference_words = columns(encoded, references, filler=-2)  # [R,pairs]
    lengths = encoded.lengths[candidates]
    found = _occurrences(candidate_words[:, position], reference_words, order, only_before=False)
    before = _occurrences(candidate_words, candidate_words, order, only_before=True)
    counts = np.zeros((order, len(candidates)))
    for k in range(min(order, len(candidate_words))):
        most = np.maximum.reduceat(found[k], starts, axis=1)  # [T,n]
        inside = np.arange(len(most))[:, None] + k < lengths
        counts[k] = np.count_nonzero(inside & (before[k] < most), axis=0)
    return counts


def _occurrences(first: np.ndarray, second: np.ndarray, order: int, only_before: bool) -> list[np.ndarray]:
    """For each order [T-k, n]: how often `second` contains the n-gram at each position of `first`."""
    equal = second[:, None] == first  # [R,T,n]
    kind = np.uint8 if len(second) < 256 else np.uint16
    same = equal
    counts = []
    for k in range(min(order, len(first))):
        if k:
            same = same[:-1, :-1] & equal[k:, k:]
        if only_before:
            counted = same & (np.arange(len(same))[:, None] < np.arange(len(first) - k))[:, :, None]
        else:
            counted = same
        counts.append(np.add.reduce(counted.view(np.uint8), axis=0, dtype=kind))
    return counts
