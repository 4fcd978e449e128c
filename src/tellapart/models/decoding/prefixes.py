"""Many captions as one tree of prefixes, so that a shared prefix is read once.

Generated captions begin alike ("a man in a ..."): a thousand of them have far fewer prefixes than words.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from tellapart.text.vocabulary import END, PAD


@dataclass(frozen=True)
class Level:
    """The prefixes of one length."""

    word: Tensor  # [n] the last word of each prefix
    parent: Tensor  # [n] row of the prefix without that word, among those kept at the level before
    kept: Tensor  # [m] the prefixes (rows of `word`) that continue: those that do not end with END


@dataclass(frozen=True)
class Prefixes:
    """The tree: its levels, and where each caption ends."""

    levels: tuple[Level, ...]
    leaf: Tensor  # [C] the row of each whole caption among the rows of all levels

    @property
    def read(self) -> int:
        """The number of prefixes that a captioner must read, with the empty one."""
        return 1 + sum(len(level.kept) for level in self.levels[:-1])


def prefix_tree(tokens: Tensor) -> Prefixes:
    """The tree of captions `tokens` [C, T] (words, END, PAD); equal captions end in the same row."""
    device = tokens.device
    levels: list[Level] = []
    leaf = torch.zeros(len(tokens), dtype=torch.long, device=device)
    place = torch.zeros(len(tokens), dtype=torch.long, device=device)  # row of each caption's prefix among those kept
    alive = torch.arange(len(tokens), device=device)  # captions that have not ended
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
