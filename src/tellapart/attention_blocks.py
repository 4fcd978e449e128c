"""Sets of vectors (regions of pictures, words of sentences) arranged and cut into blocks for `cross_attention.py`."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from tellapart.recording import recording
from tellapart.types import Encoded


@dataclass(frozen=True)
class Arranged:
    """Sets of vectors, real ones first, shortest sets first: neighbours share a block and need little padding."""

    vectors: Tensor  # [N, L, E]; masked rows are zero
    mask: Tensor  # [N, L]
    counts: Tensor  # [N] real rows, at least 1
    sizes: list[int]  # the same, on the host
    back: Tensor  # [N] where each original set stands now
    recorded: bool = False
    """While a step is recorded: real rows lie anywhere, and `sizes` are upper bounds."""


def clean(encoded: Encoded) -> tuple[Tensor, Tensor]:
    """Vectors with zeros where masked, and the mask. A set with nothing in it keeps one zero vector: it scores 0."""
    vectors = encoded.vectors if encoded.vectors.dtype == torch.float64 else encoded.vectors.float()
    if encoded.mask is None:
        return vectors, torch.ones(vectors.shape[:2], dtype=torch.bool, device=vectors.device)
    mask = encoded.mask.clone()
    vectors = vectors * encoded.mask.unsqueeze(-1)
    mask[:, 0] |= ~mask.any(1)
    return vectors, mask


def arrange(encoded: Encoded) -> Arranged:
    vectors, mask = clean(encoded)
    counts = mask.sum(1)
    if recording():  # every set is taken to be as long as the longest may be; the mask says how long it is
        count, longest = mask.shape
        return Arranged(vectors, mask, counts, [longest] * count, torch.arange(count, device=mask.device), True)
    by_size = counts.argsort(stable=True)
    front = (~mask[by_size]).long().argsort(dim=1, stable=True)  # [N, L]: real rows before masked ones
    longest = int(counts.max().item()) if len(counts) else 0
    front = front[:, :longest]
    vectors = vectors[by_size.unsqueeze(1), front]
    counts = counts[by_size]
    mask = torch.arange(longest, device=mask.device) < counts.unsqueeze(1)
    return Arranged(vectors, mask, counts, counts.tolist(), by_size.argsort())


Part = tuple[int, int, int]
"""First set, last + 1, and the size of the largest: sets are sorted by size, so that is the last one's."""


def cut_up(sizes: list[int], limit: int) -> list[Part]:
    """Runs of sets that hold about sqrt(limit) vectors when padded, so that a block of two runs holds `limit` pairs."""
    most = max(1, int(limit**0.5))
    found, first = [], 0
    for place in range(1, len(sizes) + 1):
        if place == len(sizes) or sizes[place] * (place + 1 - first) > most:
            found.append((first, place, sizes[place - 1]))
            first = place
    return found


def contexts_of(vectors: Tensor, seen: Arranged, part: Part) -> tuple[Tensor, Tensor, Tensor | None]:
    """Contexts [n, X, E], their Gram matrices [n, X, X], and a mask where sizes differ."""
    first, last, longest = part
    contexts = vectors[first:last, :longest].contiguous()
    mask = None if not seen.recorded and seen.sizes[first] == longest else seen.mask[first:last, :longest]
    return contexts, contexts @ contexts.transpose(1, 2), mask


def queries_of(vectors: Tensor, looking: Arranged, part: Part) -> tuple[Tensor, Tensor]:
    """Queries [Y, m, E] and their lengths [Y, m]. Sets come last so that every reduction runs over a strided axis."""
    first, last, longest = part
    queries = vectors[first:last, :longest].transpose(0, 1).contiguous()
    return queries, torch.linalg.vector_norm(queries, dim=-1)


def query_mask(looking: Arranged, part: Part) -> tuple[Tensor, Tensor]:
    first, last, longest = part
    return looking.mask[first:last, :longest], looking.counts[first:last]
