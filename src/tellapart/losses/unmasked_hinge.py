"""The triplet loss as R2M's released code has it, kept to compare with."""

from __future__ import annotations

from torch import Tensor, nn


class UnmaskedHinge(nn.Module):
    """R2M's Eq. 12 with the pair itself left among its negatives, as in the authors' code; scores [B, B], mean over
    pairs.

    The largest cost is then never below the margin, which so shifts the loss and has no effect on its gradient; and
    both terms look for the hardest image of a sentence. `HardestNegativeHinge` is the equation as printed.
    """

    def __init__(self, margin: float = 0.2) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, scores: Tensor) -> Tensor:
        pair = scores.diagonal()
        by_row = (self.margin + scores - pair.unsqueeze(1)).clamp(min=0).amax(0)  # [B]
        by_column = (self.margin + scores - pair.unsqueeze(0)).clamp(min=0).amax(0)  # [B]
        return (by_row + by_column).mean()
