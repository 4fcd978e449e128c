"""UC-GAN's discriminator: is a sentence human, at each word, and what is its content vector?"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.text.vocabulary import PAD


class SentenceCritic(nn.Module):
    """An LSTM with two outputs: a logit that the sentence up to each word is human, and a unit vector of the whole."""

    def __init__(self, words: int, width: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = nn.Embedding(words, hidden, padding_idx=PAD)
        self.lstm = nn.LSTM(hidden, hidden, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.judge = nn.Linear(hidden, 1)
        self.gist = nn.Linear(hidden, width)
        nn.init.uniform_(self.words.weight, -0.08, 0.08)
        with torch.no_grad():
            self.words.weight[PAD] = 0

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """tokens [N, T] (words, END, PAD) -> logits [N, T] and vectors [N, d]. At PAD the LSTM's output counts as zero,
        so that the logit is the bias."""
        given = tokens != PAD
        outputs, _ = self.lstm(self.dropout(self.words(tokens)))  # [N, T, h]
        outputs = self.dropout(outputs) * given.unsqueeze(2)
        last = given.sum(1).clamp(min=1) - 1
        final = outputs[torch.arange(len(tokens), device=tokens.device), last]  # [N, h]
        return self.judge(outputs).squeeze(2), functional.normalize(self.gist(final), dim=1)
