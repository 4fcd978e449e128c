"""Reasoning over regions as a fully connected graph: each region takes from the others what fits it (VSRN)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tellapart.encoders.projection import linear


class RegionReasoning(nn.Module):
    """One layer of VSRN's graph: V* = BN(W (R g(V))) + V with R = theta(V) phi(V)^T / N.

    Affinities are divided by the number of regions and not put through a softmax. The batch norm starts at zero, so the
    layer starts as the identity. Regions that are masked out neither give nor take, and batch norm never sees them.
    """

    def __init__(self, width: int, inner: int | None = None) -> None:
        super().__init__()
        inner = inner or width
        self.theta, self.phi, self.value = (linear(width, inner) for _ in range(3))
        self.out = linear(inner, width)
        self.norm = nn.BatchNorm1d(width)
        nn.init.zeros_(self.norm.weight)
        nn.init.zeros_(self.norm.bias)

    def forward(self, regions: Tensor, mask: Tensor) -> Tensor:
        """[I, R, D], [I, R] -> [I, R, D]."""
        kept = mask.unsqueeze(-1).to(regions.dtype)  # [I, R, 1]
        count = kept.sum(1, keepdim=True).clamp(min=1)  # [I, 1, 1]
        affinity = self.theta(regions) @ (self.phi(regions) * kept).transpose(1, 2) / count  # [I, R, R]
        gathered = self.out(affinity @ self.value(regions))  # [I, R, D]
        added = torch.zeros_like(regions)
        added[mask] = self.norm(gathered[mask]).to(added.dtype)
        return (regions + added) * kept
