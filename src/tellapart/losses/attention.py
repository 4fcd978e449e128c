"""Losses that tell a captioner where to look (grounded captioning paper, Eqs. 15 and 16).

beta is the captioner's attention at a word, alpha the teacher's (or one made of true boxes), gamma marks right regions.
Each loss gives one number a word, so that the caller can take the mean over the words it likes, on one process or many.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TINY = 1e-8
"""Weights are raised to this before their logarithm, as in the released code."""


class AttentionDivergence(nn.Module):
    """KL(beta || alpha), Eq. 15 as printed; or KL(alpha || beta), which the released code computes.

    The first forbids looking where the teacher does not look, the second asks to look everywhere the teacher looks.
    """

    def __init__(self, teacher_first: bool = False) -> None:
        super().__init__()
        self.teacher_first = teacher_first

    def forward(self, beta: Tensor, alpha: Tensor) -> Tensor:
        """[M] from attention beta [M, R] and target alpha [M, R]; rows that stand for no region are 0 in both."""
        student, teacher = beta.clamp(min=TINY), alpha.clamp(min=TINY)
        first, second = (teacher, student) if self.teacher_first else (student, teacher)
        return (first * (first.log() - second.log())).sum(-1)


class RegionLikelihood(nn.Module):
    """-log beta of the one best region: the teacher's favourite, or the one that overlaps the true box most."""

    def forward(self, beta: Tensor, alpha: Tensor) -> Tensor:
        """[M] from attention beta [M, R] and weights alpha [M, R], whose largest marks the region."""
        chosen = alpha.argmax(-1, keepdim=True)
        return -beta.gather(-1, chosen).squeeze(-1).clamp(min=TINY).log()


class AnyRegionLikelihood(nn.Module):
    """-sum_i gamma_i log beta_i over all right regions (Eq. 16); with `mean`, divided by their number as released.

    A word with no right region adds nothing.
    """

    def __init__(self, mean: bool = False) -> None:
        super().__init__()
        self.mean = mean

    def forward(self, beta: Tensor, gamma: Tensor) -> Tensor:
        """[M] from attention beta [M, R] and marks gamma [M, R], true where a region is right."""
        right = gamma.to(torch.bool)
        total = -(beta.clamp(min=TINY).log().masked_fill(~right, 0.0)).sum(-1)
        return total / right.sum(-1).clamp(min=1) if self.mean else total


ATTENTION_LOSSES: dict[str, nn.Module] = {
    "kl": AttentionDivergence(),
    "kl-teacher-first": AttentionDivergence(teacher_first=True),
    "nll": RegionLikelihood(),
    "any-region": AnyRegionLikelihood(),
    "any-region-mean": AnyRegionLikelihood(mean=True),
}
