"""Losses that supervise a captioner's attention (grounded captioning paper, Eqs. 15 and 16).

beta is the captioner's attention at a word. alpha is the teacher's attention, or one made of true boxes. gamma marks
the correct regions. Each loss gives one value per word; the caller takes the mean, over one process or several.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TINY = 1e-8
"""Lower bound of weights before the logarithm, as in the released code."""


class AttentionDivergence(nn.Module):
    """KL(beta || alpha), Eq. 15 as printed; or KL(alpha || beta), which the released code computes.

    The first penalises attention where the teacher has none. The second asks for attention wherever the teacher has
    some.
    """

    def __init__(self, teacher_first: bool = False) -> None:
        super().__init__()
        self.teacher_first = teacher_first

    def forward(self, beta: Tensor, alpha: Tensor) -> Tensor:
        """beta [M, R], alpha [M, R] -> loss [M]; columns without a region are 0 in both."""
        student, teacher = beta.clamp(min=TINY), alpha.clamp(min=TINY)
        first, second = (teacher, student) if self.teacher_first else (student, teacher)
        return (first * (first.log() - second.log())).sum(-1)


class RegionLikelihood(nn.Module):
    """-log beta of the best region: the teacher's largest weight, or the largest overlap with the true box."""

    def forward(self, beta: Tensor, alpha: Tensor) -> Tensor:
        """beta [M, R], alpha [M, R] -> loss [M]; the largest alpha marks the region."""
        chosen = alpha.argmax(-1, keepdim=True)
        return -beta.gather(-1, chosen).squeeze(-1).clamp(min=TINY).log()


class AnyRegionLikelihood(nn.Module):
    """-sum_i gamma_i log beta_i over all correct regions (Eq. 16); with `mean`, divided by their number as released.

    A word without a correct region adds 0.
    """

    def __init__(self, mean: bool = False) -> None:
        super().__init__()
        self.mean = mean

    def forward(self, beta: Tensor, gamma: Tensor) -> Tensor:
        """beta [M, R], gamma [M, R] (true where a region is correct) -> loss [M]."""
        correct = gamma.to(torch.bool)
        total = -(beta.clamp(min=TINY).log().masked_fill(~correct, 0.0)).sum(-1)
        return total / correct.sum(-1).clamp(min=1) if self.mean else total


ATTENTION_LOSSES: dict[str, nn.Module] = {
    "kl": AttentionDivergence(),
    "kl-teacher-first": AttentionDivergence(teacher_first=True),
    "nll": RegionLikelihood(),
    "any-region": AnyRegionLikelihood(),
    "any-region-mean": AnyRegionLikelihood(mean=True),
}
