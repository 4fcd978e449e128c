"""Features with the mean and the spread of each of their numbers taken out."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Standardised(nn.Module):
    """Each number of a row minus its mean over all rows seen in training, divided by its standard deviation.

    A backbone's features are all positive, so that any two regions lie in nearly one direction; without their mean they
    lie where they differ. Mean and spread are learned by counting, batch by batch, and no gradient runs through them.
    """

    mean: Tensor
    square: Tensor
    batches: Tensor

    def __init__(self, width: int, eps: float = 1e-3) -> None:
        super().__init__()
        self.eps = eps
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("square", torch.ones(width))
        self.register_buffer("batches", torch.zeros(()))

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        """Rows [I, R, D], real where the mask [I, R] is."""
        if self.training:
            self._count(rows.detach(), mask)
        spread = (self.square - self.mean.pow(2)).clamp(min=0).add(self.eps).sqrt()
        return (rows - self.mean) / spread

    @torch.no_grad()
    def _count(self, rows: Tensor, mask: Tensor) -> None:
        share = mask.to(rows.dtype) / mask.sum().clamp(min=1)  # [I, R], adds up to one
        self.batches += 1
        self.mean += (torch.einsum("ir,ird->d", share, rows) - self.mean) / self.batches
        self.square += (torch.einsum("ir,ird->d", share, rows.pow(2)) - self.square) / self.batches
