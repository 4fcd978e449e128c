"""The words of a captioner: an embedding table, and a layer that predicts the next word."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.text.vocabulary import PAD


class WordTable(nn.Module):
    """Turns word ids into vectors, and a hidden vector into one logit per word.

    tied: the same table embeds and predicts (Press and Wolf 2017), which overfits less on a small data set.
    """

    def __init__(self, words: int, width: int, hidden: int, tied: bool = False) -> None:
        super().__init__()
        self.read = nn.Embedding(words, width, padding_idx=PAD)
        nn.init.uniform_(self.read.weight, -0.1, 0.1)
        # A tied layer has no weight, so that a state dict stores each tensor once.
        self.predict = None if tied else nn.Parameter(torch.empty(words, hidden).uniform_(-0.1, 0.1))
        self.bias = nn.Parameter(torch.zeros(words))
        self.bridge = nn.Linear(hidden, width, bias=False) if tied and hidden != width else nn.Identity()

    def forward(self, words: Tensor) -> Tensor:
        """Word ids [...] -> vectors [..., width]."""
        result: Tensor = self.read(words)
        return result

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden [..., H] -> logits [..., V]."""
        return functional.linear(self.bridge(hidden), *self.output())

    def output(self) -> tuple[Tensor, Tensor]:
        """Weight [V, width] and bias [V] of the predicting layer; `bridge` is applied before it."""
        return self.read.weight if self.predict is None else self.predict, self.bias
