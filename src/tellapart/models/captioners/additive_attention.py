"""Additive attention (Bahdanau et al. 2015) of a query over the cells of an image."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

COMPARED_AT_ONCE = {"cpu": 2**19, "cuda": 2**27}
"""Numbers compared at once without gradients: few enough for the cache of a CPU, many for a GPU."""


class AdditiveAttention(nn.Module):
    """score = w . tanh(key + query), for k queries per image over all its cells.

    dropout: on the tanh, with one mask for all cells of a query, applied to w. One mask per cell would be by far the
    largest tensor of a captioner.
    """

    def __init__(self, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.weigh = nn.Linear(width, 1)
        self.dropout = dropout

    def forward(self, keys: Tensor, query: Tensor, mask: Tensor | None = None) -> Tensor:
        """keys [P, R, A], query [P * k, A] image by image, mask [P, R] -> scores [P * k, R], -inf where masked."""
        queries = torch.unflatten(query, 0, (len(keys), -1)) if len(keys) else query.unsqueeze(1)  # [P, k, A]
        if torch.is_grad_enabled():
            scores = self._scores(keys, queries)  # [P, k, R]
        else:
            most = COMPARED_AT_ONCE.get(keys.device.type, COMPARED_AT_ONCE["cuda"])
            each = max(1, most // max(keys[:1].numel(), 1))  # queries at once
            images = max(1, each // max(queries.shape[1], 1))
            scores = torch.cat(
                [
                    torch.cat([self._scores(some, part) for part in torch.split(asked, each, 1)], 1)
                    for some, asked in zip(torch.split(keys, images), torch.split(queries, images))
                ]
            )
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(1), -torch.inf)
        return scores.flatten(0, 1)

    def _scores(self, keys: Tensor, queries: Tensor) -> Tensor:
        """[P, k, R] of keys [P, R, A] and queries [P, k, A]."""
        weight = self.weigh.weight[0]  # [A]
        if self.training and self.dropout > 0:
            weight = functional.dropout(weight.expand_as(queries), self.dropout).unsqueeze(3)  # [P, k, A, 1]
        keys, queries = keys.unsqueeze(1), queries.unsqueeze(2)
        if keys.device.type == "cpu" and keys.dtype == torch.float32:
            # tanh(x) = 2 sigmoid(2x) - 1; on a CPU torch's sigmoid takes a fifth of the time of its tanh.
            compared = torch.add(2 * queries, keys, alpha=2).sigmoid_()  # [P, k, R, A]
            scores = 2 * _dot(compared, weight) - weight.sum(-2 if weight.dim() > 1 else 0)
        else:
            scores = _dot(torch.tanh(keys + queries), weight)
        return scores + self.weigh.bias


def weighted_sum(weights: Tensor, cells: Tensor) -> Tensor:
    """Cells [P, R, H] summed with the k rows of weights of their image [P * k, R]: [P * k, H]."""
    if not len(cells):
        return cells.new_zeros(0, cells.shape[2])
    return torch.bmm(torch.unflatten(weights, 0, (len(cells), -1)), cells).flatten(0, 1)


def _dot(compared: Tensor, weight: Tensor) -> Tensor:
    """[P, k, R] from [P, k, R, A] and one w for all [A] or one per query [P, k, A, 1]."""
    return compared @ weight if weight.dim() == 1 else (compared @ weight).squeeze(3)
