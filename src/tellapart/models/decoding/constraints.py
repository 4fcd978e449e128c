"""Which words may come next: no special tokens, no repeated n-grams, no caption that ends in "with a"."""

from __future__ import annotations

import torch
from torch import Tensor

from tellapart.text.vocabulary import END, PAD
from tellapart.text.word_constraints import NEVER_GENERATED, Constraints, bad_endings, most_forbidden

__all__ = ["NEVER_GENERATED", "Constraints", "bad_endings", "forbidden_words", "most_forbidden"]


def forbidden_words(words: int, prefix: Tensor, constraints: Constraints, last: bool = False) -> Tensor:
    """[N or 1, V] bool, True where a word may not follow `prefix` [N, t] (PAD after END).

    last: the caption has reached its full length, so that only END may follow.
    """
    if last:
        only_end = torch.ones(1, words, dtype=torch.bool, device=prefix.device)
        only_end[0, END] = False
        return only_end
    never = torch.zeros(1, words, dtype=torch.bool, device=prefix.device)
    for word in NEVER_GENERATED:
        never[0, word] = True  # one by one: a list of indices would have to be copied to a GPU first
    if constraints.no_repeat > 0 and prefix.shape[1] >= constraints.no_repeat:
        never = never | _repeats(words, prefix, constraints.no_repeat)
    if constraints.bad_endings and prefix.shape[1] > 0:
        bad = torch.tensor(constraints.bad_endings, device=prefix.device)
        never = never.expand(prefix.shape[0], -1).clone()
        never[:, END] |= torch.isin(prefix[:, -1], bad)
    return never


def _repeats(words: int, prefix: Tensor, length: int) -> Tensor:
    """[N, V] bool: words that would complete a run of `length` words that occurs already."""
    runs = prefix.unfold(1, length, 1)  # [N, t - length + 1, length]
    current = prefix[:, prefix.shape[1] - length + 1 :]  # [N, length - 1]
    again = (runs[:, :, :-1] == current.unsqueeze(1)).all(-1)  # [N, t - length + 1]
    found = torch.zeros(prefix.shape[0], words, dtype=torch.uint8, device=prefix.device)
    # PAD is forbidden anyway, so runs that do not match may all point to it.
    return found.scatter_(1, torch.where(again, runs[:, :, -1], PAD), 1).bool()
