"""Generated captions as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Captions:
    """Generated captions: words, END, then PAD."""

    tokens: np.ndarray  # [N, T]
    log_probability: np.ndarray  # [N] the captioner's, summed over words and END
    attention: np.ndarray | None = None  # [N, T, R] at each word

    def __len__(self) -> int:
        return len(self.tokens)

    def select(self, index: np.ndarray) -> Captions:
        """The captions at `index`, in that order."""
        return Captions(
            self.tokens[index],
            self.log_probability[index],
            None if self.attention is None else self.attention[index],
        )
