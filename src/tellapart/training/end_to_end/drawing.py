"""What a batch is made of: image rows in random order, and captions drawn for them on the device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tellapart.training.end_to_end.words import swapped


@dataclass(frozen=True)
class CaptionTable:
    """Captions of all images as ids [I, k, T], and which id a flipped image has instead [V]."""

    tokens: Tensor
    swap: Tensor

    def draw(self, rows: Tensor, flipped: Tensor, each: int) -> Tensor:
        """`each` captions of each image at rows [n], chosen at random: [n, each, T] long."""
        tokens = self.tokens[rows]
        if each < tokens.shape[1]:
            chosen = torch.rand(tokens.shape[:2], device=tokens.device).topk(each, 1).indices  # [n, each]
            tokens = tokens.gather(1, chosen.unsqueeze(-1).expand(-1, -1, tokens.shape[2]))
        return swapped(tokens.long(), flipped, self.swap)


class Rows:
    """Training rows in random order, epoch after epoch; images may arrive while training runs."""

    def __init__(self, available: Callable[[], np.ndarray], device: torch.device) -> None:
        self.available, self.device = available, device
        self.order, self.place = torch.zeros(0, dtype=torch.long, device=device), 0

    def draw(self, count: int, ask: bool) -> Tensor:
        """The next rows [count]; `ask` looks whether more images have arrived."""
        if ask or self.place + count > len(self.order):
            rows = self.available()
            if self.place + count > len(self.order) or len(rows) != len(self.order):
                known = torch.from_numpy(rows.astype(np.int64)).to(self.device)
                repeats = -(-count // max(len(known), 1))  # a tiny set is repeated to fill a batch
                self.order = torch.cat([known[torch.randperm(len(known), device=self.device)]] * repeats)
                self.place = 0
        self.place += count
        return self.order[self.place - count : self.place]


@dataclass(frozen=True)
class HardNegatives:
    """The look-alikes of each image as rows [I, k], and which share of a batch they make up."""

    neighbours: Tensor
    share: float


def with_look_alikes(rows: Tensor, neighbours: Tensor, share: float) -> Tensor:
    """Rows [n], of which the last `share` are replaced by look-alikes [I, k] of the others, drawn at random; at least
    one row stays.

    A look-alike that is in the batch already is not added: in a contrastive loss an image would be its own negative.
    """
    replaced = min(int(len(rows) * share), len(rows) - 1)
    if not replaced:
        return rows
    kept = rows[: len(rows) - replaced]
    chosen = kept[torch.randint(len(kept), (replaced,), device=rows.device)]
    column = torch.randint(neighbours.shape[1], (replaced, 1), device=rows.device)
    drawn = neighbours[chosen].gather(1, column)[:, 0]
    every = torch.cat([kept, drawn, rows[len(kept) :]])
    return every[_is_repeated(every).byte().argsort(stable=True)[: len(rows)]]


def _is_repeated(rows: Tensor) -> Tensor:
    """Whether a row [n] occurs before, too.

    >>> _is_repeated(torch.tensor([4, 2, 4, 4, 2, 7])).int().tolist()
    [0, 0, 1, 1, 1, 0]
    """
    ordered, order = rows.sort(stable=True)
    again = torch.zeros_like(rows, dtype=torch.bool)
    again[order[1:]] = ordered[1:] == ordered[:-1]
    return again
