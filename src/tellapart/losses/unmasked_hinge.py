"""The triplet loss of R2M's released code, kept for comparison."""

from __future__ import annotations

from torch import Tensor, nn


class UnmaskedHinge(nn.Module):
    """R2M's Eq. 12 with the pair itself among its negatives, as in the authors' code; mean over pairs.

    The largest cost is then never below the margin, which shifts the loss but not its gradient. Both terms search for
    the hardest image of a caption. `HardestNegativeHinge` is the equation as printed.
    """

    def __init__(self, margin: float = 0.2) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, scores: Tensor) -> Tensor:
        """scores [B, B], pairs on the diagonal -> scalar."""
        pair = scores.diagonal()
        by_row = (self.margin + scores - pair.unsqueeze(1)).clamp(min=0).amax(0)  # [B]
        by_column = (self.margin + scores - pair.unsqueeze(0)).clamp(min=0).amax(0)  # [B]
        return (by_row + by_column).mean()
