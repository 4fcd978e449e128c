"""Many sentences as one tree of prefixes: what sentences have in common is read once.

Captions a model writes begin alike ("a man in a ..."): a thousand of them have far fewer prefixes than words.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from tellapart.text.vocabulary import END, PAD


@dataclass(frozen=True)
class Level:
    """The prefixes of one length: the word each adds, and to which prefix that is to be read further."""

    word: Tensor  # [n] the word this prefix ends with
    parent: Tensor  # [n] which of the prefixes read at the level before it goes on from
    kept: Tensor  # [m] the prefixes (rows of `word`) that go on, END being no beginning of anything


@dataclass(frozen=True)
class Prefixes:
    levels: tuple[Level, ...]
    leaf: Tensor  # [C] each sentence's last prefix: its level's first row among all rows, plus its row

    @property
    def read(self) -> int:
        """How many prefixes a captioner must read, the empty one among them."""
        return 1 + sum(len(level.kept) for level in self.levels[:-1])


def prefix_tree(tokens: Tensor) -> Prefixes:
    """The tree of sentences `tokens` [C, T] (words, END, PAD); equal sentences end in the same place."""
    device = tokens.device
    levels: list[Level] = []
    leaf = torch.zeros(len(tokens), dtype=torch.long, device=device)
    place = torch.zeros(len(tokens), dtype=torch.long, device=device)  # each sentence's row among those read
    alive = torch.arange(len(tokens), device=device)  # sentences that have not ended
    first = 0
    size = int(tokens.max()) + 1
    for time in range(tokens.shape[1]):
        alive = alive[tokens[alive, time] != PAD]
        if not len(alive):
            break
        codes, row = torch.unique(place[alive] * size + tokens[alive, time], return_inverse=True)
        word = codes % size
        kept = (word != END).nonzero().squeeze(1)
        levels.append(Level(word, codes // size, kept))
        leaf[alive] = first + row
        first += len(word)
        number = torch.zeros(len(word), dtype=torch.long, device=device)
        number[kept] = torch.arange(len(kept), device=device)
        place[alive] = number[row]
        alive = alive[tokens[alive, time] != END]
    return Prefixes(tuple(levels), leaf)
