"""Distance between a reconstructed sentence vector and its target."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


class CosineReconstruction(nn.Module):
    """L_rec of latent target decoding (LTD paper, Eq. 6): 1 - cos(y~, y), one value per caption.

    Args:
        eps: keeps the cosine finite for a zero vector, whose distance is then 1.
    """

    def __init__(self, eps: float = 1e-8) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, predicted: Tensor, target: Tensor) -> Tensor:
        """predicted [C, D], target [C, D] -> loss [C]."""
        return 1 - F.cosine_similarity(predicted, target, dim=-1, eps=self.eps)
