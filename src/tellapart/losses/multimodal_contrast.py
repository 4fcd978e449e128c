"""MVN: SimCLR's loss over both modalities at once, the baseline that ConVSE argues against."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tellapart.losses.negatives import check_reduction, check_temperature, own_image, positives, reduce, same_image


class MultimodalContrast(nn.Module):
    """The multi-modal NCE loss of MVN as the ConVSE paper adapts it (section III-B; row MVN of Table III).

    The negatives of each image and of each caption are all other captions and all other images. The mean runs over
    all 2N anchors of the N pairs, as in SimCLR.

    Args:
        temperature: tau.
        reduction: over the 2N anchors.
    """

    def __init__(self, temperature: float = 0.1, reduction: str = "mean") -> None:
        super().__init__()
        self.temperature = check_temperature(temperature)
        self.reduction = check_reduction(reduction)

    def forward(self, scores: Tensor, owner: Tensor, among_images: Tensor, among_captions: Tensor) -> Tensor:
        """scores [I, C], owner [C], and the scores within each modality [I, I] and [C, C] -> scalar."""
        lowest = float("-inf")
        across = scores / self.temperature  # [I, C]
        pair = positives(across, owner)  # [C]
        related = same_image(owner)  # [C, C]
        own = own_image(scores, owner)  # [C, I]
        other_captions = related & ~torch.eye(len(owner), dtype=torch.bool, device=scores.device)
        image_logits = torch.cat(
            [
                across[owner].masked_fill(other_captions, lowest),  # [C, C]
                (among_images / self.temperature)[owner].masked_fill(own, lowest),  # [C, I]
            ],
            dim=1,
        )
        caption_logits = torch.cat(
            [
                across.t(),  # [C, I]
                (among_captions / self.temperature).masked_fill(related, lowest),  # [C, C]
            ],
            dim=1,
        )
        image_anchor = image_logits.logsumexp(1) - pair
        caption_anchor = caption_logits.logsumexp(1) - pair
        return reduce(torch.cat([image_anchor, caption_anchor]), self.reduction)
