"""What may be said next: special tokens never, no repeated n-grams, no sentence that ends in "with a"."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from tellapart.text.vocabulary import END, PAD, START, UNK, Vocabulary

NEVER_GENERATED = (PAD, START, UNK)
# fmt: off
BAD_ENDINGS = (
    "a", "an", "the", "in", "on", "of", "at", "to", "with", "for",
    "from", "by", "and", "or", "is", "are", "was", "were", "be", "as",
    "its", "his", "her", "their", "this", "that", "into", "onto", "near", "over",
    "under", "behind", "through", "while", "who", "which", "very",
)
# fmt: on


@dataclass(frozen=True)
class Constraints:
    """Options of every decoder; each is off by default."""

    no_repeat: int = 0
    """No run of this many words occurs twice in a sentence; 0: any may."""
    bad_endings: tuple[int, ...] = ()
    """Word ids that END may not follow; `bad_endings(vocabulary)` lists the usual ones."""


def bad_endings(vocabulary: Vocabulary) -> tuple[int, ...]:
    """Ids of the words no sentence should end with, those the vocabulary has."""
    return tuple(vocabulary.ids[word] for word in BAD_ENDINGS if word in vocabulary.ids)


def most_forbidden(said: int, constraints: Constraints) -> int:
    """The most words that `forbidden_words` can forbid after `said` words."""
    runs = max(0, said - constraints.no_repeat + 1) if constraints.no_repeat > 0 else 0
    return len(NEVER_GENERATED) + bool(constraints.bad_endings) + runs


def forbidden_words(words: int, said: Tensor, constraints: Constraints, last: bool = False) -> Tensor:
    """[N or 1, V] bool, True where a word may not come next after `said` [N, t] (PAD after END).

    last: the sentence has reached its full length, so that only END is left.
    """
    if last:
        only_end = torch.ones(1, words, dtype=torch.bool, device=said.device)
        only_end[0, END] = False
        return only_end
    never = torch.zeros(1, words, dtype=torch.bool, device=said.device)
    for word in NEVER_GENERATED:
        never[0, word] = True  # one by one: a list of places would have to be sent to a GPU first
    if constraints.no_repeat > 0 and said.shape[1] >= constraints.no_repeat:
        never = never | _repeats(words, said, constraints.no_repeat)
    if constraints.bad_endings and said.shape[1] > 0:
        bad = torch.tensor(constraints.bad_endings, device=said.device)
        never = never.expand(said.shape[0], -1).clone()
        never[:, END] |= torch.isin(said[:, -1], bad)
    return never


def _repeats(words: int, said: Tensor, length: int) -> Tensor:
    """[N, V] bool: words that would complete a run of `length` words that is already there."""
    runs = said.unfold(1, length, 1)  # [N, t - length + 1, length]
    current = said[:, said.shape[1] - length + 1 :]  # [N, length - 1]
    again = (runs[:, :, :-1] == current.unsqueeze(1)).all(-1)  # [N, t - length + 1]
    found = torch.zeros(said.shape[0], words, dtype=torch.uint8, device=said.device)
    # PAD is barred anyway, so runs that do not match may all point there.
    return found.scatter_(1, torch.where(again, runs[:, :, -1], PAD), 1).bool()
