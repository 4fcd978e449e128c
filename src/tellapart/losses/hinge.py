"""Triplet ranking losses: over every negative (VSE), or over the hardest one alone (VSE++)."""

from __future__ import annotations

from torch import Tensor, nn

from tellapart.losses.negatives import caption_negatives, check_reduction, image_negatives, positives, reduce

LOWEST = float("-inf")


class SumOfHinges(nn.Module):
    """l_SH of VSE (ConVSE paper, Eq. 2): the sum of the margin violations of all negatives.

        l_SH(I, C) = sum_C' [alpha + s(I, C') - s(I, C)]_+  +  sum_I' [alpha + s(I', C) - s(I, C)]_+

    Args:
        margin: alpha, the difference by which a pair must beat its negatives.
        reduction: over pairs; `sum` as in the published VSE code, `mean` to be independent of the batch size.
    """

    def __init__(self, margin: float = 0.2, reduction: str = "mean") -> None:
        super().__init__()
        self.margin = margin
        self.reduction = check_reduction(reduction)

    def forward(self, scores: Tensor, owner: Tensor) -> Tensor:
        """scores [I, C], owner [C] -> scalar."""
        pair = positives(scores, owner).unsqueeze(1)  # [C, 1]
        captions, wrong_caption = caption_negatives(scores, owner)  # [C, C]
        images, wrong_image = image_negatives(scores, owner)  # [C, I]
        caption_cost = (self.margin + captions - pair).clamp(min=0) * wrong_caption
        image_cost = (self.margin + images - pair).clamp(min=0) * wrong_image
        return reduce(caption_cost.sum(1) + image_cost.sum(1), self.reduction)


class HardestNegativeHinge(nn.Module):
    """l_MH of VSE++ (ConVSE paper, Eqs. 3-5; grounded captioning paper, Eq. 7): the violations of the hardest
    negatives alone.

        l_MH(I, C) = [alpha + s(I, C*) - s(I, C)]_+  +  [alpha + s(I*, C) - s(I, C)]_+

    A pair without a negative (one image in the batch) adds 0.

    Args:
        margin: alpha.
        reduction: over pairs; `sum` as in the published VSE++, SCAN and LTD code.
    """

    def __init__(self, margin: float = 0.2, reduction: str = "mean") -> None:
        super().__init__()
        self.margin = margin
        self.reduction = check_reduction(reduction)

    def forward(self, scores: Tensor, owner: Tensor) -> Tensor:
        """scores [I, C], owner [C] -> scalar."""
        pair = positives(scores, owner)  # [C]
        hardest_caption, hardest_image = hardest_negatives(scores, owner)
        caption_cost = (self.margin + hardest_caption - pair).clamp(min=0)
        image_cost = (self.margin + hardest_image - pair).clamp(min=0)
        return reduce(caption_cost + image_cost, self.reduction)


def hardest_negatives(scores: Tensor, owner: Tensor) -> tuple[Tensor, Tensor]:
    """s(I, C*) and s(I*, C) of each pair [C] (ConVSE paper, Eqs. 3 and 4); -inf where a pair has no negative."""
    captions, wrong_caption = caption_negatives(scores, owner)
    images, wrong_image = image_negatives(scores, owner)
    hardest_caption = captions.masked_fill(~wrong_caption, LOWEST).amax(1)  # [C]
    hardest_image = images.masked_fill(~wrong_image, LOWEST).amax(1)  # [C]
    return hardest_caption, hardest_image
