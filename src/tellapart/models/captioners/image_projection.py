"""The input layer of captioners for image features: optional scaling, a linear layer, ReLU, dropout."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.errors import InputError

SCALINGS = ("none", "layer", "unit")


class ImageProjection(nn.Module):
    """Projects features.

    scaling: none; layer (each row to zero mean and unit variance, then a learned scale and shift); unit (each row to
    length one, times sqrt(D) so that elements keep a size near one).
    """

    def __init__(self, width: int, hidden: int, dropout: float, scaling: str = "none", relu: bool = True) -> None:
        super().__init__()
        if scaling not in SCALINGS:
            raise InputError(f"scaling must be one of {', '.join(SCALINGS)}, not '{scaling}'.")
        self.scaling, self.relu = scaling, relu
        self.norm = nn.LayerNorm(width) if scaling == "layer" else nn.Identity()
        self.project = nn.Linear(width, hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: Tensor) -> Tensor:
        """features [..., D] -> [..., hidden]."""
        features = self.norm(features)
        if self.scaling == "unit":
            features = functional.normalize(features, dim=-1) * features.shape[-1] ** 0.5
        projected = self.project(features)
        result: Tensor = self.dropout(torch.relu(projected) if self.relu else projected)
        return result
