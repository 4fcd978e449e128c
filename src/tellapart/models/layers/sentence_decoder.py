"""Decoders that write a sentence back from what encodes it: from one vector (LTD's ITD), or from regions (VSRN).

They serve as an extra loss in training and are thrown away afterwards; captioners to keep are in `models/captioners/`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tellapart.models.layers.projection import linear
from tellapart.models.layers.word_embedding import WordEmbedding


class VectorToSentence(nn.Module):
    """Input target decoding's h_omega (LTD paper, Eq. 3 and section 4.2): a one-layer GRU that starts from z_C.

    Teacher forcing: `forward(vectors [C, E], tokens [C, T])` gives logits [C, T - 1, V] for tokens[:, 1:].
    """

    def __init__(self, vector: int, words: int, word_width: int, hidden: int) -> None:
        super().__init__()
        self.words = WordEmbedding(words, word_width)
        self.start = linear(vector, hidden)
        self.gru = nn.GRU(word_width, hidden, batch_first=True)
        self.out = linear(hidden, words)

    def forward(self, vectors: Tensor, tokens: Tensor) -> Tensor:
        state = self.start(vectors).unsqueeze(0)  # [1, C, H]
        states, _ = self.gru(self.words(tokens[:, :-1]), state.contiguous())
        return self.out(states)


class RegionsToSentence(nn.Module):
    """VSRN's caption decoder: a GRU reads the regions, a second one writes, attending to what the first made of each.

    Teacher forcing: `forward(regions [C, R, E], mask [C, R], tokens [C, T])` gives logits [C, T - 1, V].
    """

    def __init__(self, region: int, words: int, word_width: int, hidden: int) -> None:
        super().__init__()
        self.words = WordEmbedding(words, word_width)
        self.reader = nn.GRU(region, hidden, batch_first=True)
        self.key, self.query = linear(hidden, hidden, bias=False), linear(hidden, hidden)
        self.weigh = linear(hidden, 1, bias=False)
        self.writer = nn.GRUCell(word_width + hidden, hidden)
        self.out = linear(hidden, words)

    def forward(self, regions: Tensor, mask: Tensor, tokens: Tensor) -> Tensor:
        read, _ = self.reader(regions)  # [C, R, H]
        kept = mask.unsqueeze(-1).to(read.dtype)
        state = (read * kept).sum(1) / kept.sum(1).clamp(min=1)  # [C, H]
        keys, words = self.key(read), self.words(tokens[:, :-1])
        states = []
        for step in range(words.shape[1]):
            logits = self.weigh(torch.tanh(keys + self.query(state).unsqueeze(1))).squeeze(-1)  # [C, R]
            weights = logits.masked_fill(~mask, float("-inf")).softmax(1)
            seen = torch.einsum("cr,crh->ch", weights, read)
            state = self.writer(torch.cat([words[:, step], seen], dim=1), state)
            states.append(state)
        return self.out(torch.stack(states, dim=1))
