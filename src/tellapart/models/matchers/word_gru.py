"""A bidirectional GRU over words with max pooling: a text side that shares nothing with pretrained language models."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

LENGTH = 22
"""Captions are padded to at least this length, that of end-to-end training (`word_table`): the direction from the end
reads the padding first, so a caption's vector would depend on the longest one that is read with it. It still does where
one of more than 20 words is among them."""


class WordGru(nn.Module):
    """Word ids [C, T] and which are real [C, T] -> the largest value over the words [C, 2 * hidden]."""

    def __init__(self, words: int, width: int = 300, hidden: int = 512, dropout: float = 0.1) -> None:
        super().__init__()
        self.width = 2 * hidden
        self.words = nn.Embedding(words, width, padding_idx=0)
        self.gru = nn.GRU(width, hidden, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        padded = functional.pad(tokens, (0, max(0, LENGTH - tokens.shape[1])))
        read, _ = self.gru(self.dropout(self.words(padded)))  # [C, at least T, 2 * hidden]
        pooled: Tensor = read[:, : tokens.shape[1]].float().masked_fill(~mask.unsqueeze(-1), -1e4).amax(1)
        return pooled
