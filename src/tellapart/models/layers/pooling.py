"""Pooling of feature rows to one vector: mean, max, attention, or generalised (learned)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from tellapart.core.recording import recording
from tellapart.models.layers.gru import BiGRU
from tellapart.models.layers.transformer import positions


class MeanPooling(nn.Module):
    """The mean over rows."""

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        """rows [N, L, D], mask [N, L] -> [N, D]."""
        kept = mask.unsqueeze(-1).to(rows.dtype)
        return (rows * kept).sum(1) / kept.sum(1).clamp(min=1)


class MaxPooling(nn.Module):
    """The maximum over rows, per feature."""

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        """rows [N, L, D], mask [N, L] -> [N, D]."""
        return rows.masked_fill(~mask.unsqueeze(-1), float("-inf")).amax(1)


class AttentionPooling(nn.Module):
    """A softmax over rows in several heads, one per slice of the vector."""

    def __init__(self, width: int, heads: int = 8) -> None:
        super().__init__()
        self.heads = heads
        self.weigh = nn.Sequential(nn.Linear(width, width // 2), nn.Tanh(), nn.Linear(width // 2, heads))

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        """rows [N, L, D], mask [N, L] -> [N, D]."""
        logits = self.weigh(rows).masked_fill(~mask.unsqueeze(-1), float("-inf"))  # [N, L, H]
        weights = logits.softmax(1).unsqueeze(-1)
        slices = rows.view(*rows.shape[:2], self.heads, -1)  # [N, L, H, D / H]
        result: Tensor = (weights * slices).sum(1).flatten(1)
        return result


class GeneralisedPooling(nn.Module):
    """Sorts each feature over the rows and sums with learned weights per rank, which cover mean and max.

    Chen et al. 2021, "Learning the best pooling strategy for visual semantic embedding": a small bi-GRU reads
    position vectors, one per rank, and gives each rank a weight, for any number of rows.
    """

    def __init__(self, inner: int = 32, temperature: float = 0.1) -> None:
        super().__init__()
        self.inner, self.temperature = inner, temperature
        self.reader = BiGRU(inner, inner)
        self.weigh = nn.Linear(inner, 1, bias=False)

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        """rows [N, L, D], mask [N, L] -> [N, D]."""
        counts = mask.sum(1)
        lowest = torch.finfo(rows.dtype).min
        ranked = rows.masked_fill(~mask.unsqueeze(-1), lowest).sort(dim=1, descending=True).values  # [N, L, D]
        real = torch.arange(rows.shape[1], device=rows.device) < counts.unsqueeze(1)  # [N, L]
        weights = self.rank_weights(counts, rows.shape[1])  # [N, L]
        return torch.einsum("nl,nld->nd", weights.to(rows.dtype), ranked.masked_fill(~real.unsqueeze(-1), 0))

    def rank_weights(self, counts: Tensor, longest: int) -> Tensor:
        """Weights of ranks 1 … count [N, L] for counts [N]. Each distinct count is computed once; a recorded step,
        which cannot know the counts, computes all possible ones."""
        if recording():
            sizes, which = torch.arange(1, longest + 1, device=counts.device), (counts - 1).clamp(min=0)
        else:
            sizes, which = torch.unique(counts, return_inverse=True)
        table = positions(longest, self.inner, counts.device).expand(len(sizes), -1, -1)  # [S, L, P]
        states = self.reader(table.contiguous(), sizes).mean(2)  # [S, L, P]
        logits = self.weigh(states).squeeze(-1) / self.temperature
        real = torch.arange(longest, device=counts.device) < sizes.unsqueeze(1)
        result: Tensor = logits.masked_fill(~real, float("-inf")).softmax(1)[which]
        return result


def pooling(name: str, width: int) -> nn.Module:
    """The pooling called `name` for rows of this width."""
    choices: dict[str, Callable[[], nn.Module]] = {
        "mean": MeanPooling,
        "max": MaxPooling,
        "attention": lambda: AttentionPooling(width),
        "generalised": GeneralisedPooling,
    }
    if name not in choices:
        raise ValueError(f"pooling must be one of {', '.join(choices)}, not '{name}'")
    return choices[name]()
