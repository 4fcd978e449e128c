"""The triplet loss of R2M's released code, kept for comparison."""

from __future__ import annotations

from torch import Tensor, nn


class UnmaskedHinge(nn.Module):
    """R2M's Eq. 12 with the pair itself among its negatives, as in the authors' code; mean over pairs.

        max over i of [m + s_ij - s_ii]_+ for each caption j,  and  max over j of [m + s_ij - s_jj]_+ for each image i

    The largest cost is never below the margin, which shifts the loss but not its gradient. Each term takes its maximum
    over the axis that the other one needs: the costs of image i's wrong captions are compared across images, those of
    caption j's wrong images across captions. `HardestNegativeHinge` is the equation as printed.
    """

    def __init__(self, margin: float = 0.2) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, scores: Tensor) -> Tensor:
        """scores [B, B], pairs on the diagonal -> scalar."""
        pair = scores.diagonal()
        of_captions = (self.margin + scores - pair.unsqueeze(1)).clamp(min=0).amax(0)  # [B], over images
        of_images = (self.margin + scores - pair.unsqueeze(0)).clamp(min=0).amax(1)  # [B], over captions
        return (of_captions + of_images).mean()
