"""The words of a captioner: a table to read them by, and a layer that says how likely each comes next."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.text.vocabulary import PAD


class WordTable(nn.Module):
    """Reads word ids as vectors, and turns a hidden vector into one logit a word.

    tied: the same table reads and predicts (Press and Wolf 2017): fewer parameters to overfit on a small
    data set.
    """

    def __init__(self, words: int, width: int, hidden: int, tied: bool = False) -> None:
        super().__init__()
        self.read = nn.Embedding(words, width, padding_idx=PAD)
        nn.init.uniform_(self.read.weight, -0.1, 0.1)
        # A tied layer has no weight of its own, so that a state dict holds each tensor once.
        self.predict = None if tied else nn.Parameter(torch.empty(words, hidden).uniform_(-0.1, 0.1))
        self.bias = nn.Parameter(torch.zeros(words))
        self.bridge = nn.Linear(hidden, width, bias=False) if tied and hidden != width else nn.Identity()

    def forward(self, words: Tensor) -> Tensor:
        return self.read(words)  # [..., width]

    def logits(self, hidden: Tensor) -> Tensor:
        return functional.linear(self.bridge(hidden), *self.output())  # [..., V]

    def output(self) -> tuple[Tensor, Tensor]:
        """The predicting layer's weight [V, width] and bias [V]; `bridge` comes before it."""
        return self.read.weight if self.predict is None else self.predict, self.bias
