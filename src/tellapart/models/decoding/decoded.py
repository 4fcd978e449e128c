"""What decoding gives back."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from tellapart.core.types import Movable


@dataclass(frozen=True)
class Decoded(Movable):
    """Sentences a captioner wrote: words, END, then PAD; START, PAD before END, and UNK never occur."""

    tokens: Tensor  # [N, T]
    log_probability: Tensor  # [N] sum over the words and END of the model's own log-probabilities
    attention: Tensor | None = None  # [N, T, R] where the model looked for each word
    word_log_probability: Tensor | None = None
    """[N, T] each word under the distribution it was drawn from (0 after END, and for an END forced by the
    length): what a policy gradient needs. Sampling gives it; it differs from the model's own where words are
    barred, temperature is not one, or the tail is cut."""

    def __len__(self) -> int:
        return self.tokens.shape[0]

    def select(self, index: Tensor) -> Decoded:
        return Decoded(
            self.tokens[index],
            self.log_probability[index],
            None if self.attention is None else self.attention[index],
            None if self.word_log_probability is None else self.word_log_probability[index],
        )
