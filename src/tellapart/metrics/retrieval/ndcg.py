"""nDCG of text-to-image retrieval: the quality of the whole top of a ranking.

An image's relevance for a query caption is the ROUGE-L of the query against the image's captions, including the query
itself (Messina et al. 2020; LTD paper, section 4.3). Any other relevance [C, I], such as SPICE, can be given instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError

BETA = 1.2
DEPTH = 25
WORD_BITS = 64
QUERIES_AT_ONCE = 64


def ndcg(scores: Tensor, relevance: Tensor, depth: int = DEPTH) -> float:
    """Mean over caption queries of DCG / ideal DCG among the first `depth` images [0, 1].

    Gain 2^rel - 1, discount log2(rank + 1). `scores` is [I, C], `relevance` [C, I]. Queries without a relevant image
    are ignored. A query with NaN among its scores has no ranking and counts 0.

    >>> round(ndcg(torch.tensor([[0.9], [0.1]]), torch.tensor([[0.0, 1.0]])), 4)  # right image second: 1 / log2(3)
    0.6309
    """
    if relevance.shape != scores.t().shape:
        raise InputError(f"relevance must have the shape {tuple(scores.t().shape)}, not {tuple(relevance.shape)}.")
    depth = min(depth, scores.shape[0])
    discount = 1 / torch.log2(torch.arange(2, depth + 2, dtype=torch.float64))
    order = scores.t().argsort(dim=1, descending=True, stable=True)[:, :depth].cpu()  # [C, depth]
    gains = 2.0 ** relevance.double().cpu() - 1
    found = (gains.gather(1, order) * discount).sum(1)
    ideal = (gains.topk(depth, dim=1).values * discount).sum(1)
    found = found.masked_fill(scores.isnan().any(0).cpu(), 0.0)
    relevant = ideal > 0
    return float((found[relevant] / ideal[relevant]).mean()) if bool(relevant.any()) else 0.0


def rouge_relevance(captions: Sequence[str], owner: Tensor) -> Tensor:
    """[C, I] float32: ROUGE-L of every caption with every image's captions, in lower case, split at white space.

    The maxima of precision and recall over an image's captions are taken separately, then combined with beta 1.2.
    """
    words, lengths = _numbered(captions)
    owners = owner.cpu().numpy()
    by_image = np.argsort(owners, kind="stable")
    images, starts = np.unique(owners[by_image], return_index=True)
    references, reference_lengths = words[by_image], lengths[by_image]
    relevance = np.zeros((len(captions), int(owners.max()) + 1), dtype=np.float32)
    for first in range(0, len(captions), QUERIES_AT_ONCE):
        rows = slice(first, first + QUERIES_AT_ONCE)
        common = common_lengths(words[rows], lengths[rows], references).astype(np.float32)  # [q, C]
        best = np.maximum.reduceat(common, starts, axis=1) / np.maximum(lengths[rows], 1)[:, None]  # precision
        recall = np.maximum.reduceat(common / np.maximum(reference_lengths, 1), starts, axis=1)
        denominator = recall + BETA**2 * best
        relevance[rows, images] = (1 + BETA**2) * best * recall / np.where(denominator == 0, 1, denominator)
    return torch.from_numpy(relevance)


def common_lengths(queries: np.ndarray, lengths: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Longest common subsequence of each query [q, T] with each reference [C, S]: [q, C].

    Bit-parallel (Hyyrö 2004): a row of the table is the bits of one machine word, so each word of a reference costs
    four operations, for all pairs at once. -1 marks the end of a caption in both.
    """
    if queries.shape[1] > WORD_BITS:
        return _common_lengths_by_table(queries, references)
    vocabulary = int(max(queries.max(initial=0), references.max(initial=0))) + 2  # the last row is for -1
    places = np.zeros((len(queries), vocabulary), dtype=np.uint64)
    for step in range(queries.shape[1]):
        inside = queries[:, step] >= 0
        places[inside, queries[inside, step]] |= np.uint64(1 << step)
    row: np.ndarray = np.full((len(queries), len(references)), ~np.uint64(0))
    for step in range(references.shape[1]):
        match = row & places[:, references[:, step]]
        row = (row + match) | (row - match)
    used: np.ndarray = (np.uint64(1) << lengths.astype(np.uint64)) - np.uint64(1)
    used = np.where(lengths >= WORD_BITS, ~np.uint64(0), used)
    return _ones(~row & used[:, None])


def _ones(words: np.ndarray) -> np.ndarray:
    """The number of set bits of each uint64, by adding neighbours: pairs, fours, eights, then all bytes at once."""
    pairs, fours, eights = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
    words = words - ((words >> np.uint64(1)) & pairs)
    words = (words & fours) + ((words >> np.uint64(2)) & fours)
    words = (words + (words >> np.uint64(4))) & eights
    return ((words * np.uint64(0x0101010101010101)) >> np.uint64(56)).astype(np.int64)


def _common_lengths_by_table(queries: np.ndarray, references: np.ndarray) -> np.ndarray:
    """`common_lengths` for queries of more than 64 words, by dynamic programming."""
    row = np.zeros((references.shape[1] + 1, len(queries), len(references)), dtype=np.int64)
    for word in queries.T:
        before = row.copy()
        for step in range(references.shape[1]):
            match = (references[None, :, step] == word[:, None]) & (word >= 0)[:, None]
            row[step + 1] = np.maximum(np.maximum(before[step + 1], row[step]), before[step] + match)
    longest: np.ndarray = row[-1]
    return longest


def _numbered(captions: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Words as numbers [C, T], -1 after the end, and lengths [C]."""
    ids: dict[str, int] = {}
    rows = [[ids.setdefault(word, len(ids)) for word in caption.lower().split()] for caption in captions]
    lengths = np.asarray([len(row) for row in rows], dtype=np.int64)
    words = np.full((len(rows), int(lengths.max(initial=1))), -1, dtype=np.int64)
    words[np.arange(words.shape[1]) < lengths[:, None]] = [word for row in rows for word in row]
    return words, lengths
