"""nDCG of text-to-image retrieval: the quality of the whole top of a ranking.

An image's relevance for a query caption is the ROUGE-L of the query against the image's captions, including the query
itself (Messina et al. 2020; LTD paper, section 4.3). Any other relevance [C, I], such as SPICE, can be given instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.metrics.retrieval.rouge_relevance import RougeRelevance

DEPTH = 25


def ndcg(scores: Tensor, relevance: Tensor, depth: int = DEPTH) -> float:
    """Mean over caption queries of DCG / ideal DCG among the first `depth` images [0, 1].

    Gain 2^rel - 1, discount log2(rank + 1). `scores` is [I, C], `relevance` [C, I]. Queries without a relevant image
    are ignored. A query with NaN among its scores has no ranking and counts 0.

    >>> round(ndcg(torch.tensor([[0.9], [0.1]]), torch.tensor([[0.0, 1.0]])), 4)  # right image second: 1 / log2(3)
    0.6309
    """
    if relevance.shape != scores.t().shape:
        raise InputError(f"relevance must have the shape {tuple(scores.t().shape)}, not {tuple(relevance.shape)}.")
    return ndcg_of_parts(scores, [(0, relevance)], depth)


def ndcg_rouge(scores: Tensor, captions: Sequence[str], owner: Tensor, depth: int = DEPTH) -> float:
    """nDCG with ROUGE-L as relevance, a few captions at a time, on the device of `scores` [I, C]."""
    if scores.shape[1] != len(captions):
        raise InputError(f"scores has the shape {tuple(scores.shape)}, but there are {len(captions)} captions.")
    return ndcg_of_parts(scores, RougeRelevance(captions, owner, scores.device).parts(), depth)


def ndcg_of_parts(scores: Tensor, parts: Iterable[tuple[int, Tensor]], depth: int = DEPTH) -> float:
    """`ndcg` for a relevance that comes in parts: (first caption, relevance of it and the next ones [q, I])."""
    total, queries = 0.0, 0
    for first, relevance in parts:
        found, ideal = _gains(scores[:, first : first + len(relevance)].t(), relevance.to(scores.device), depth)
        relevant = ideal > 0
        total += float((found[relevant] / ideal[relevant]).sum())
        queries += int(relevant.sum())
    return total / max(queries, 1)


def _gains(scores: Tensor, relevance: Tensor, depth: int) -> tuple[Tensor, Tensor]:
    """DCG as ranked and at best [q], for scores and relevance [q, I]."""
    depth = min(depth, scores.shape[1])
    discount = 1 / torch.log2(torch.arange(2, depth + 2, dtype=torch.float64, device=scores.device))
    order = scores.argsort(dim=1, descending=True, stable=True)[:, :depth]  # [q, depth]
    gains = 2.0 ** relevance.double() - 1
    found = (gains.gather(1, order) * discount).sum(1)
    ideal = (gains.topk(depth, dim=1).values * discount).sum(1)
    return found.masked_fill(scores.isnan().any(1), 0.0), ideal
