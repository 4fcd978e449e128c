"""Decoders that reconstruct a caption: from its vector (ITD, LTD paper), or from the image's regions (VSRN).

They give an extra loss in training and are discarded afterwards; captioners are in `models/captioners/`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tellapart.models.layers.projection import linear
from tellapart.models.layers.word_embedding import WordEmbedding


class VectorToSentence(nn.Module):
    """Input target decoding's h_omega (LTD paper, Eq. 3 and section 4.2): a one-layer GRU that starts from z_C."""

    def __init__(self, vector: int, words: int, word_width: int, hidden: int) -> None:
        super().__init__()
        self.words = WordEmbedding(words, word_width)
        self.start = linear(vector, hidden)
        self.gru = nn.GRU(word_width, hidden, batch_first=True)
        self.out = linear(hidden, words)

    def forward(self, vectors: Tensor, tokens: Tensor) -> Tensor:
        """vectors [C, E], tokens [C, T] -> logits [C, T - 1, V] of tokens[:, 1:] (teacher forcing)."""
        state = self.start(vectors).unsqueeze(0)  # [1, C, H]
        states, _ = self.gru(self.words(tokens[:, :-1]), state.contiguous())
        result: Tensor = self.out(states)
        return result


class RegionsToSentence(nn.Module):
    """VSRN's caption decoder: a GRU encodes the regions, and a second one decodes with attention over them."""

    def __init__(self, region: int, words: int, word_width: int, hidden: int) -> None:
        super().__init__()
        self.words = WordEmbedding(words, word_width)
        self.reader = nn.GRU(region, hidden, batch_first=True)
        self.key, self.query = linear(hidden, hidden, bias=False), linear(hidden, hidden)
        self.weigh = linear(hidden, 1, bias=False)
        self.writer = nn.GRUCell(word_width + hidden, hidden)
        self.out = linear(hidden, words)

    def forward(self, regions: Tensor, mask: Tensor, tokens: Tensor) -> Tensor:
        """regions [C, R, E], mask [C, R], tokens [C, T] -> logits [C, T - 1, V] (teacher forcing)."""
        read, _ = self.reader(regions)  # [C, R, H]
        kept = mask.unsqueeze(-1).to(read.dtype)
        state = (read * kept).sum(1) / kept.sum(1).clamp(min=1)  # [C, H]
        keys, words = self.key(read), self.words(tokens[:, :-1])
        states = []
        for step in range(words.shape[1]):
            logits = self.weigh(torch.tanh(keys + self.query(state).unsqueeze(1))).squeeze(-1)  # [C, R]
            weights = logits.masked_fill(~mask, float("-inf")).softmax(1)
            attended = torch.einsum("cr,crh->ch", weights, read)
            state = self.writer(torch.cat([words[:, step], attended], dim=1), state)
            states.append(state)
        result: Tensor = self.out(torch.stack(states, dim=1))
        return result
