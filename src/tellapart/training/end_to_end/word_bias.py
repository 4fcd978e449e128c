"""A third stage: rare words that self-critical training stops using are made likelier again.

A captioner that learns from its own samples never samples rare words, so it learns only frequent ones (Honda et al.
2022). This stage leaves the weights as they are and adds to the bias of each word w

    strength * ln(most / pi(w)),    least <= pi(w) <= most,

the post-hoc logit adjustment of Menon et al. 2021 (section 4.1). pi(w) is the share of the word among all words of the
references, held between `least` and `most`, so that frequent words compete as before and words too rare to be learned
gain no more than others. It needs references only, no images.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.models.captioners.transformer import TransformerCaptioner
from tellapart.text.vocabulary import UNK


@dataclass(frozen=True)
class WordBias:
    """Settings of the adjustment; `strength` 0 changes nothing."""

    strength: float = 0.45
    """How much a word gains that is e times rarer."""
    least: float = 1e-4
    """Rarer words gain as if they had this share."""
    most: float = 3e-3
    """Words with at least this share gain nothing."""

    def __post_init__(self) -> None:
        if not 0 < self.least <= self.most <= 1:
            raise InputError(
                f"`least` and `most` must be shares, 0 < least <= most <= 1, not {self.least}, {self.most}."
            )
        if self.strength < 0:
            raise InputError(f"`strength` must be at least 0, not {self.strength}.")


def word_shares(references: Tensor, words: int) -> Tensor:
    """The share of each word [V] among the words of references [..., T]; PAD, START, END and UNK are no words.

    >>> word_shares(torch.tensor([[1, 4, 5, 2, 0], [1, 4, 3, 2, 0]]), 6).tolist()[4:]
    [0.6666666865348816, 0.3333333432674408]
    """
    counts = torch.bincount(references.flatten().long(), minlength=words).float()
    counts[: UNK + 1] = 0
    if not bool(counts.any()):
        raise InputError("The references have no word of the vocabulary; check the captions of the pack.")
    return counts / counts.sum()


def word_gain(shares: Tensor, settings: WordBias) -> Tensor:
    """What each word's bias gains [V], from its share [V]; PAD, START, END and UNK gain nothing."""
    gain = settings.strength * (settings.most / shares.clamp(settings.least, settings.most)).log()
    gain[: UNK + 1] = 0
    return gain


@torch.no_grad()
def adjust_word_bias(captioner: TransformerCaptioner, references: Tensor, settings: WordBias) -> TransformerCaptioner:
    """The captioner itself, its bias adjusted by the shares of words in references [I, k, T]."""
    shares = word_shares(references, len(captioner.bias))
    captioner.bias.add_(word_gain(shares, settings).to(captioner.bias))
    return captioner
