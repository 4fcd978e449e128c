"""Contrastive learning against a reference (paper 1, Eqs. 7-10), in log space throughout."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.errors import InputError

PARTS = ("both", "positive", "negative")


class ReferenceContrast(nn.Module):
    """True pairs likelier than the reference has them, mismatched pairs less likely.

        G = ln p_m(c|I) - ln p_n(c|I)                                                    (Eq. 7)
        h = r_nu(G) = 1 / (1 + nu exp(-G)) = sigmoid(G - ln nu)                          (Eqs. 3, 8)
        J = mean over true pairs of ln h + mean over mismatched pairs of ln(1 - h)       (Eqs. 9, 10)

    The loss is -J. Eq. 10 copies the true pairs K times and draws as many mismatched pairs each time: then the means
    of all copies and of all K rounds are the same numbers, and the true pairs need be computed only once.

    Args:
        nu: moves the G at which h is 1/2 to ln nu. The paper has nu = T_n / T_m = 1. Here it is a constant of r_nu
            alone: both means weigh the same whatever it is, so that Eqs. 9 and 10 are as printed where it is 1.
        parts: both (CL), positive (CL(P), true pairs alone) or negative (CL(N), mismatched pairs alone).
    """

    def __init__(self, nu: float = 1.0, parts: str = "both") -> None:
        super().__init__()
        if nu <= 0:
            raise InputError(f"nu must be positive, not {nu}.")
        if parts not in PARTS:
            raise InputError(f"There is no part '{parts}' of the contrast; choose one of {', '.join(PARTS)}.")
        self.log_nu, self.parts = math.log(nu), parts

    def log_h(self, target: Tensor, reference: Tensor) -> Tensor:
        """ln h of each pair, from ln p_m and ln p_n."""
        return functional.logsigmoid(target - reference - self.log_nu)

    def log_not_h(self, target: Tensor, reference: Tensor) -> Tensor:
        """ln(1 - h) of each pair."""
        return functional.logsigmoid(-(target - reference - self.log_nu))

    def forward(
        self, target_true: Tensor, reference_true: Tensor, target_mismatched: Tensor, reference_mismatched: Tensor
    ) -> Tensor:
        """Log-probabilities of sentences: true pairs [C], and mismatched pairs of all rounds together [K * C]."""
        loss = torch.zeros((), dtype=target_true.dtype, device=target_true.device)
        if self.parts != "negative":
            loss = loss - self.log_h(target_true, reference_true).mean()
        if self.parts != "positive":
            loss = loss - self.log_not_h(target_mismatched, reference_mismatched).mean()
        return loss
