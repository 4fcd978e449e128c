"""ConVSE++: cross-entropy against the single hardest negative, with a margin."""

from __future__ import annotations

from torch import Tensor, nn

from tellapart.losses.hinge import hardest_negatives
from tellapart.losses.negatives import check_reduction, check_temperature, positives, reduce


class HardestNegativeContrast(nn.Module):
    """l_CMN of ConVSE++ (ConVSE paper, Eqs. 12-14 and Algorithm 1): the max-of-negatives loss with margin.

        l_CMN(I, C) = [-log e^{s(I,C)/tau} / e^{(s(I,C*) + alpha)/tau}]_+  +  [the same with I*]_+

    The logarithm of the quotient is a difference, so this is VSE++'s hinge divided by tau. It is computed as that
    difference, which never overflows. With margin None it is Eqs. 9-11: no hinge, no margin, possibly negative.

    Args:
        margin: alpha, or None for the form of Eq. 9.
        temperature: tau.
        reduction: over pairs; Algorithm 1 takes the mean.
    """

    def __init__(self, margin: float | None = 0.2, temperature: float = 0.1, reduction: str = "mean") -> None:
        super().__init__()
        self.margin = margin
        self.temperature = check_temperature(temperature)
        self.reduction = check_reduction(reduction)

    def forward(self, scores: Tensor, owner: Tensor) -> Tensor:
        """scores [I, C], owner [C] -> scalar."""
        pair = positives(scores, owner)  # [C]
        total = scores.new_zeros(len(owner))
        for hardest in hardest_negatives(scores, owner):  # captions, then images
            exists = hardest.isfinite()
            violation = hardest.masked_fill(~exists, 0) - pair
            if self.margin is not None:
                violation = (violation + self.margin).clamp(min=0)
            total = total + violation.masked_fill(~exists, 0) / self.temperature
        return reduce(total, self.reduction)
