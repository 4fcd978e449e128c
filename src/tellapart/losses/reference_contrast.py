"""Contrastive learning against a reference (contrastive captioning paper, Eqs. 7-10), in log space throughout."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.errors import InputError

PARTS = ("both", "positive", "negative")


class ReferenceContrast(nn.Module):
    """Makes true pairs likelier than under the reference, and mismatched pairs less likely.

        G = ln p_m(c|I) - ln p_n(c|I)                                                    (Eq. 7)
        h = r_nu(G) = 1 / (1 + nu exp(-G)) = sigmoid(G - ln nu)                          (Eqs. 3, 8)
        J = mean over true pairs of ln h + mean over mismatched pairs of ln(1 - h)       (Eqs. 9, 10)

    The loss is -J. Eq. 10 copies the true pairs K times and draws as many mismatched pairs each time. The mean over all
    copies equals the mean over one, so the true pairs are computed only once.

    Args:
        nu: h is 1/2 where G is ln nu. The paper has nu = T_n / T_m = 1. Here nu enters r_nu alone: both means always
            weigh the same, so Eqs. 9 and 10 are as printed for nu = 1.
        parts: both (CL), positive (CL(P), true pairs alone) or negative (CL(N), mismatched pairs alone).
    """

    def __init__(self, nu: float = 1.0, parts: str = "both") -> None:
        super().__init__()
        if nu <= 0:
            raise InputError(f"nu must be positive, not {nu}.")
        if parts not in PARTS:
            raise InputError(f"parts must be one of {', '.join(PARTS)}, not '{parts}'.")
        self.log_nu, self.parts = math.log(nu), parts

    def log_h(self, target: Tensor, reference: Tensor) -> Tensor:
        """ln h of each pair [N], from ln p_m and ln p_n [N]."""
        return functional.logsigmoid(target - reference - self.log_nu)

    def log_not_h(self, target: Tensor, reference: Tensor) -> Tensor:
        """ln(1 - h) of each pair [N], from ln p_m and ln p_n [N]."""
        return functional.logsigmoid(-(target - reference - self.log_nu))

    def forward(
        self, target_true: Tensor, reference_true: Tensor, target_mismatched: Tensor, reference_mismatched: Tensor
    ) -> Tensor:
        """Log-probabilities of true pairs [C] and of the mismatched pairs of all rounds [K * C] -> scalar."""
        loss = torch.zeros((), dtype=target_true.dtype, device=target_true.device)
        if self.parts != "negative":
            loss = loss - self.log_h(target_true, reference_true).mean()
        if self.parts != "positive":
            loss = loss - self.log_not_h(target_mismatched, reference_mismatched).mean()
        return loss
