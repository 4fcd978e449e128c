"""A reward for rare words that are true: those that a reference of the image has, too.

CIDEr-D rewards rare words as parts of n-grams, and only a sample that has one can learn it. This part pays for each
different word w of a caption that some reference has

    ln(most / pi(w)),    least <= pi(w) <= most,

the gain of `word_bias` per unit of strength: 0 for frequent words, 3.4 at most by default.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tellapart.text.vocabulary import END, PAD
from tellapart.training.end_to_end.word_bias import WordBias, word_gain, word_shares

LIMITS = WordBias(strength=1.0)


class RareWords:
    """The gain of each word [V], and which words the references of each image [I, k, T] have."""

    def __init__(self, references: Tensor, words: int, limits: WordBias = LIMITS) -> None:
        self.gain = word_gain(word_shares(references, words), limits).to(references.device)
        self.said = references.flatten(1).to(torch.int32)  # [I, k T]

    def __call__(self, drawn: Tensor, owner: Tensor) -> Tensor:
        """[C]: the summed gain of different words of captions [C, T] that references of images `owner` [C] have."""
        inside = ((drawn == END) | (drawn == PAD)).cumsum(1) == 0
        said = (drawn.unsqueeze(2) == self.said[owner].unsqueeze(1)).any(2)  # [C, T]
        earlier = (drawn.unsqueeze(2) == drawn.unsqueeze(1)).tril(-1).any(2)
        return (self.gain[drawn] * (inside & said & ~earlier)).sum(1)
