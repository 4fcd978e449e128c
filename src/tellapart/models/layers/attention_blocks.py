"""Sets of vectors (image regions, caption words), sorted and split into blocks for `cross_attention.py`."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from tellapart.core.recording import recording
from tellapart.core.types import Encoded

ALIGNED = 16
"""Matrices have a multiple of 16 columns: their rows begin where tensor cores read them fastest."""


@dataclass(frozen=True)
class Arranged:
    """Sets of vectors, shortest sets first, real vectors before masked ones, so that blocks need little padding."""

    vectors: Tensor  # [N, L, E]; masked rows are zero
    mask: Tensor  # [N, L]
    counted: Tensor  # [N, L] the vectors that count in a pair's score
    counts: Tensor  # [N] how many count, at least 1
    sizes: list[int]  # real vectors per set, at least 1
    back: Tensor  # [N] the row of each original set
    recorded: bool = False
    """While a step is recorded: real vectors are in any position, and `sizes` are upper bounds."""


def clean(encoded: Encoded) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors with zeros where masked, the mask, and the mask of what counts.

    A set in which nothing counts keeps one zero vector, and scores 0.
    """
    vectors = encoded.vectors if encoded.vectors.dtype == torch.float64 else encoded.vectors.float()
    if encoded.mask is None:
        everything = torch.ones(vectors.shape[:2], dtype=torch.bool, device=vectors.device)
        return vectors, everything, everything
    counted = encoded.mask if encoded.counted is None else encoded.mask & encoded.counted
    empty = ~counted.any(1, keepdim=True)
    vectors = vectors * (encoded.mask & ~empty).unsqueeze(-1)
    first = torch.arange(counted.shape[1], device=counted.device) == 0  # [L]
    return vectors, torch.where(empty, first, encoded.mask), torch.where(empty, first, counted)


def arrange(encoded: Encoded) -> Arranged:
    """The sets sorted by size."""
    vectors, mask, counted = clean(encoded)
    sizes = mask.sum(1)
    if recording():  # all sets count as equally long; the mask gives their lengths
        count, longest = mask.shape
        places = torch.arange(count, device=mask.device)
        return Arranged(
            vectors, mask, counted=counted, counts=counted.sum(1), sizes=[longest] * count, back=places, recorded=True
        )
    by_size = sizes.argsort(stable=True)
    front = (~mask[by_size]).long().argsort(dim=1, stable=True)  # [N, L]: real vectors before masked ones
    longest = int(sizes.max().item()) if len(sizes) else 0
    rows = by_size.unsqueeze(1), front[:, :longest]
    counted = counted[rows]
    return Arranged(vectors[rows], mask[rows], counted, counted.sum(1), sizes[by_size].tolist(), by_size.argsort())


Part = tuple[int, int, int]
"""First set, last + 1, and the size of the largest (the last one, as sets are sorted by size)."""


def split_blocks(sizes: list[int], limit: int) -> list[Part]:
    """Runs of sets with about sqrt(limit) vectors when padded, so that a block of two runs has `limit` pairs."""
    most = max(1, int(limit**0.5))
    found, first = [], 0
    for place in range(1, len(sizes) + 1):
        if place == len(sizes) or sizes[place] * (place + 1 - first) > most:
            found.append((first, place, sizes[place - 1]))
            first = place
    return found


def contexts_of(vectors: Tensor, sets: Arranged, part: Part) -> tuple[Tensor, Tensor, Tensor | None]:
    """Contexts [n, X, E], their Gram matrices [n, X, X], and a mask where sizes differ."""
    first, last, longest = part
    contexts = vectors[first:last, :longest].contiguous()
    mask = None if not sets.recorded and sets.sizes[first] == longest else sets.mask[first:last, :longest]
    return contexts, contexts @ contexts.transpose(1, 2), mask


def queries_of(vectors: Tensor, part: Part) -> tuple[Tensor, Tensor]:
    """Queries [Y, m, E] and their lengths [Y, m]; with this order, reductions run over a strided axis."""
    first, last, longest = part
    queries = vectors[first:last, :longest].transpose(0, 1).contiguous()
    return queries, torch.linalg.vector_norm(queries, dim=-1)


def counted_queries(sets: Arranged, part: Part) -> tuple[Tensor, Tensor]:
    """Which queries count [m, Y], and how many of each set [m]."""
    first, last, longest = part
    return sets.counted[first:last, :longest], sets.counts[first:last]


@dataclass(frozen=True)
class JoinedQueries:
    """The queries of m sets, one after another without padding: W vectors, zeros up to a multiple of ALIGNED."""

    vectors: Tensor  # [W, E]
    lengths: Tensor  # [W] |e|
    counted: Tensor  # [W] which count in a pair's score
    starts: Tensor  # [m + 1] int32, where each set begins, and the end


def joined_queries(vectors: Tensor, sets: Arranged, part: Part) -> JoinedQueries:
    """The queries of a part, of sets in which real vectors come first; not for recorded steps."""
    first, last, longest = part
    sizes = torch.tensor(sets.sizes[first:last])
    places = torch.arange(longest) < sizes.unsqueeze(1)  # [m, L], on the host: nothing waits for the device
    rows, columns = (index.to(vectors.device) for index in places.nonzero(as_tuple=True))
    missing = -len(rows) % ALIGNED
    joined = F.pad(vectors[first:last][rows, columns], (0, 0, 0, missing))
    counted = F.pad(sets.counted[first:last][rows, columns], (0, missing))
    starts = F.pad(sizes.cumsum(0), (1, 0)).to(vectors.device, torch.int32)
    return JoinedQueries(joined, torch.linalg.vector_norm(joined, dim=-1), counted, starts)
