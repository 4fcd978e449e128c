"""Maximum likelihood (contrastive captioning paper, Eq. 1): cross-entropy of each true word, with label smoothing."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.precision import at_least_float
from tellapart.text.vocabulary import PAD


class WordCrossEntropy(nn.Module):
    """Minus the log-probability of each true word, mean over words.

    smoothing: share of the target that is spread evenly over all words (Szegedy et al. 2016); 0 is plain likelihood.
    """

    def __init__(self, smoothing: float = 0.0) -> None:
        super().__init__()
        if not 0 <= smoothing < 1:
            raise InputError(f"smoothing must lie in [0, 1), not {smoothing}.")
        self.smoothing = smoothing

    def per_word(self, logits: Tensor, targets: Tensor) -> Tensor:
        """logits [M, V], targets [M] -> loss [M], 0 where the target is PAD. The caller takes the mean where it spans
        several processes."""
        return functional.cross_entropy(
            at_least_float(logits), targets, reduction="none", label_smoothing=self.smoothing, ignore_index=PAD
        )

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """logits [M, V], targets [M] -> scalar: the mean over words that are not PAD."""
        return self.per_word(logits, targets).sum() / (targets != PAD).sum().clamp(min=1)
