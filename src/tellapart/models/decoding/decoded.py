"""The result of decoding."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from tellapart.core.types import Movable


@dataclass(frozen=True)
class Decoded(Movable):
    """Generated captions: words, END, then PAD. START, UNK, and PAD before END never occur."""

    tokens: Tensor  # [N, T]
    log_probability: Tensor  # [N] the model's log-probabilities, summed over words and END
    attention: Tensor | None = None  # [N, T, R] at each word
    word_log_probability: Tensor | None = None
    """[N, T] log-probability of each word under the distribution it was sampled from, for policy gradients; 0 after END
    and for an END forced by the length. Only sampling sets it. It differs from the model's where words are forbidden,
    the temperature is not 1, or the tail is cut."""

    def __len__(self) -> int:
        return self.tokens.shape[0]

    def select(self, index: Tensor) -> Decoded:
        """The captions at `index`, in that order."""
        return Decoded(
            self.tokens[index],
            self.log_probability[index],
            None if self.attention is None else self.attention[index],
            None if self.word_log_probability is None else self.word_log_probability[index],
        )
