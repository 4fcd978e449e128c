"""VSRN's graph layer: each region receives from all others, weighted by affinity."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tellapart.core.recording import recording
from tellapart.models.layers.projection import linear


class RegionReasoning(nn.Module):
    """One layer of VSRN's graph: V* = BN(W (R g(V))) + V with R = theta(V) phi(V)^T / N.

    Affinities are divided by the number of regions, without a softmax. The batch norm starts at zero, so the layer
    starts as the identity. Masked regions neither send nor receive, and do not enter the batch norm.
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
        """regions [I, R, D], mask [I, R] -> [I, R, D]."""
        kept = mask.unsqueeze(-1).to(regions.dtype)  # [I, R, 1]
        count = kept.sum(1, keepdim=True).clamp(min=1)  # [I, 1, 1]
        affinity = self.theta(regions) @ (self.phi(regions) * kept).transpose(1, 2) / count  # [I, R, R]
        gathered = self.out(affinity @ self.value(regions))  # [I, R, D]
        return (regions + masked_norm(self.norm, gathered, mask).to(regions.dtype)) * kept


def masked_norm(norm: nn.BatchNorm1d, rows: Tensor, mask: Tensor) -> Tensor:
    """Batch norm over the rows of [I, R, D] that a mask [I, R] keeps; the other rows are undefined."""
    if not (recording() and norm.training):
        normed = torch.zeros_like(rows)
        normed[mask] = norm(rows[mask]).to(rows.dtype)
        return normed
    # The same with sums over all rows, since a recorded step cannot select rows.
    rows = rows if rows.dtype == torch.float64 else rows.float()
    kept = mask.unsqueeze(-1).to(rows.dtype)
    count = kept.sum().clamp(min=1)
    mean = (rows * kept).sum((0, 1)) / count
    centred = rows - mean
    spread = (centred.square() * kept).sum((0, 1)) / count
    with torch.no_grad():
        assert norm.running_mean is not None and norm.running_var is not None and norm.momentum is not None
        assert norm.num_batches_tracked is not None
        norm.running_mean.lerp_(mean, norm.momentum)
        norm.running_var.lerp_(spread * count / (count - 1).clamp(min=1), norm.momentum)
        norm.num_batches_tracked.add_(1)
    return centred * (spread + norm.eps).rsqrt() * norm.weight + norm.bias
