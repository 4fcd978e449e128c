"""Additive attention (Bahdanau et al. 2015): how well each cell of a picture fits what is about to be said."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class AdditiveAttention(nn.Module):
    """score = w . tanh(key + query), for one query against all cells.

    dropout: on the tanh, one mask for all cells of a query, folded into w: as one mask a cell would be by far the
    largest tensor of a captioner.
    """

    def __init__(self, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.weigh = nn.Linear(width, 1)
        self.dropout = dropout

    def forward(self, keys: Tensor, query: Tensor, mask: Tensor | None = None) -> Tensor:
        """keys [N, R, A], query [N, A], mask [N, R] True = keep; gives scores [N, R], -inf where there is no cell."""
        compared = torch.tanh(keys + query.unsqueeze(1))  # [N, R, A]
        if self.training and self.dropout > 0:
            weight = functional.dropout(self.weigh.weight.expand_as(query), self.dropout)  # [N, A]
            scores = torch.bmm(compared, weight.unsqueeze(2)).squeeze(2) + self.weigh.bias
        else:
            scores = self.weigh(compared).squeeze(2)
        return scores if mask is None else scores.masked_fill(~mask, -torch.inf)
