"""BERTScore (Zhang et al. 2020, "BERTScore: Evaluating Text Generation with BERT", section 3), with any text encoder.

x are the vectors of a reference's pieces, x^ those of the candidate's, all of length one:

    R = 1/|x| sum_i max_j x_i . x^_j      P = 1/|x^| sum_j max_i x_i . x^_j      F = 2 P R / (P + R)

With idf weights, a mean is weighted by idf(w) = -ln of the share of references that have the piece w, plus-one smoothed
(section 3, "Importance Weighting"). Pieces that the tokenizer adds have the weight 0, yet words may match them, as in
the authors' program. With several references, P, R and F are each the best of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.metrics.captions.values import Score
from tellapart.text.token_vectors import TokenVectors

Encode = Callable[[Sequence[str]], Sequence[TokenVectors]]
Weights = Callable[[TokenVectors], np.ndarray]
NAMES = ("BERTScore-P", "BERTScore-R", "BERTScore-F")
CHUNK = 512
"""Captions whose pieces are in memory at once."""


def matched(
    candidate: TokenVectors, reference: TokenVectors, weigh: Weights = lambda text: 1.0 - text.special
) -> tuple[float, float, float]:
    """P, R and F of one candidate and one reference; 0 where either has no piece with a weight.

    >>> here = np.zeros(2, bool)
    >>> one = TokenVectors(np.arange(2), np.array([[1.0, 0.0], [0.0, 1.0]]), here)
    >>> two = TokenVectors(np.arange(2), np.array([[1.0, 0.0], [0.6, 0.8]]), here)
    >>> [round(value, 4) for value in matched(one, two)]  # (1 + 0.8) / 2 both ways
    [0.9, 0.9, 0.9]
    """
    similar = candidate.vectors @ reference.vectors.T  # [m, n]
    ours, theirs = weigh(candidate), weigh(reference)
    if not ours.sum() or not theirs.sum():
        return 0.0, 0.0, 0.0
    precision = float(similar.max(1) @ ours / ours.sum())
    recall = float(similar.max(0) @ theirs / theirs.sum())
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0


def idf_weights(references: Sequence[TokenVectors]) -> Weights:
    """Weights by idf among these references: ln((M + 1) / (m + 1)), m of M have the piece; 0 for special pieces."""
    counts = Counter(piece for text in references for piece in set(text.pieces.tolist()))
    total = len(references)

    def weigh(text: TokenVectors) -> np.ndarray:
        idf = np.asarray([np.log((total + 1) / (counts[piece] + 1)) for piece in text.pieces.tolist()])
        return np.where(text.special, 0.0, idf)

    return weigh


def bert_score(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    encode: Encode,
    *,
    idf: bool = False,
    baseline: Sequence[float] | None = None,
) -> dict[str, Score]:
    """BERTScore-P, -R and -F of one candidate per image against its references.

    encode: such as `TokenEncoder("minilm")`.
    idf: weight pieces by their idf among all references.
    baseline: values b of P, R and F that unrelated captions reach (`random_baseline`); each value becomes
        (value - b) / (1 - b).
    """
    if len(candidates) != len(references) or not candidates:
        raise InputError(f"There are {len(candidates)} candidates and {len(references)} groups of references.")
    if not all(references):
        raise InputError("Every candidate needs at least one reference.")
    given: dict[str, Weights] = {}
    if idf:
        given["weigh"] = idf_weights([one for some in _chunks(_flat(references)) for one in encode(some)])
    rows: list[np.ndarray] = []
    for first in range(0, len(candidates), CHUNK):
        groups = references[first : first + CHUNK]
        ours, known = encode(candidates[first : first + CHUNK]), iter(encode(_flat(groups)))
        for candidate, group in zip(ours, groups):
            rows.append(np.max([matched(candidate, next(known), **given) for _ in group], axis=0))
    each = np.asarray(rows)  # [N, 3]
    if baseline is not None:
        low = np.asarray(baseline, float)
        if low.shape != (3,) or not (low < 1).all():
            raise InputError("The baseline must be three numbers below 1: those of precision, recall and F.")
        each = (each - low) / (1 - low)
    return {name: Score(float(column.mean()), column) for name, column in zip(NAMES, each.T)}


def random_baseline(texts: Sequence[str], encode: Encode, pairs: int = 1000, seed: int = 0) -> tuple[float, ...]:
    """Mean P, R and F of random pairs of different texts (section 3, "Baseline Rescaling")."""
    distinct = sorted(set(texts))
    if len(distinct) < 2:
        raise InputError("A baseline needs at least two different captions.")
    random = np.random.default_rng(seed)
    first = random.integers(0, len(distinct), pairs)
    second = (first + random.integers(1, len(distinct), pairs)) % len(distinct)
    values = [
        matched(one, two)
        for rows in _chunks(list(zip(first, second)))
        for one, two in zip(encode([distinct[row] for row, _ in rows]), encode([distinct[row] for _, row in rows]))
    ]
    return tuple(np.mean(values, axis=0).tolist())


def _flat(groups: Sequence[Sequence[str]]) -> list[str]:
    return [text for group in groups for text in group]


def _chunks(values: Sequence[Any]) -> list[Sequence[Any]]:
    return [values[first : first + CHUNK] for first in range(0, len(values), CHUNK)]
