"""The fusion memory of R2M (Eqs. 1-4), and the linear layer that replaces it in the paper's ablation."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class FusionMemory(nn.Module):
    """f_t from the concept vector v and the previous word w_{t-1}: two rows that attend to each other in H heads."""

    def __init__(self, width: int, heads: int = 2, key_width: int = 256, value_width: int = 256) -> None:
        super().__init__()
        self.heads, self.key_width, self.value_width = heads, key_width, value_width
        self.project = nn.Linear(width, heads * (2 * key_width + value_width), bias=False)  # U_q, U_k, U_v
        self.fuse = nn.Linear(2 * heads * value_width, width)  # FC of Eq. 4

    def forward(self, concepts: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """v [N, d], words [N, T, d] -> f [N, T, d] and weights [N, T, H, 2, 2] (rows are queries; v, then the word).

        f_t depends on nothing before t - 1, so all steps of a caption are computed at once.
        """
        steps = words.shape[1]
        fixed = self.project(concepts).unsqueeze(1).expand(-1, steps, -1)  # [N, T, P]
        rows = torch.stack([fixed, self.project(words)], 2)  # [N, T, 2, P]
        query, key, value = split_heads(rows, self.heads, self.key_width, self.value_width)  # [N, T, H, 2, ·]
        weights = (query @ key.transpose(-1, -2) / self.key_width**0.5).softmax(-1)  # Eq. 1: [N, T, H, 2, 2]
        mixed = weights @ value  # Eq. 2
        joined = mixed.transpose(2, 3).flatten(2)  # Eq. 3: [N, T, 2 H d_v]
        return self.fuse(joined), weights  # Eq. 4


class PlainFusion(nn.Module):
    """The ablation without fusion memory: f_t is a linear layer over v and w_{t-1} (Table 2, "D w/o FM")."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fuse = nn.Linear(2 * width, width)

    def forward(self, concepts: Tensor, words: Tensor) -> tuple[Tensor, None]:
        """v [N, d], words [N, T, d] -> f [N, T, d]."""
        return self.fuse(torch.cat([concepts.unsqueeze(1).expand_as(words), words], 2)), None


def split_heads(rows: Tensor, heads: int, key_width: int, value_width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Projected rows [..., R, H (2 d_k + d_v)] -> queries, keys and values [..., H, R, ·]."""
    widths = [key_width, key_width, value_width]
    query, key, value = torch.split(torch.unflatten(rows, -1, (heads, -1)), widths, -1)
    return query.transpose(-2, -3), key.transpose(-2, -3), value.transpose(-2, -3)
