"""How a second loss joins the ranking loss: added with a weight, or held below a bound."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from tellapart.core.distributed import gather_rows
from tellapart.core.errors import InputError
from tellapart.losses.lagrange_constraint import LagrangeConstraint


@dataclass(frozen=True)
class Joining:
    """With `bound` 0 the dual loss, L + weight L_rec (LTD paper, Eq. 7); with a bound, the constraint L_rec <= bound
    by a Lagrange multiplier (Eqs. 8 and 9)."""

    weight: float = 1.0
    """beta of the dual loss."""
    bound: float = 0.0
    """eta; the paper tries 0.05 … 0.3 for latent targets and 0.5 … 6 for input targets. 0: the dual loss."""
    multiplier_start: float = 1.0
    """lambda's first value."""
    multiplier_highest: float = 100.0
    """What lambda is clamped to."""
    multiplier_rate: float = 5e-3
    """Learning rate of lambda's ascent."""
    multiplier_momentum: float = 0.9
    """Momentum and dampening of lambda's ascent."""

    def build(self) -> ExtraLoss:
        if self.bound < 0:
            raise InputError(f"joining.bound={self.bound:g}: a bound is positive, or 0 for the dual loss.")
        if self.bound == 0:
            return ExtraLoss(self.weight, None)
        constraint = LagrangeConstraint(
            self.bound,
            self.multiplier_start,
            highest=self.multiplier_highest,
            rate=self.multiplier_rate,
            momentum=self.multiplier_momentum,
            dampening=self.multiplier_momentum,
        )
        return ExtraLoss(self.weight, constraint)


class ExtraLoss(nn.Module):
    def __init__(self, weight: float, constraint: LagrangeConstraint | None) -> None:
        super().__init__()
        self.weight = weight
        self.constraint = constraint

    def forward(self, loss: Tensor, extra: Tensor) -> dict[str, Tensor]:
        """The joint loss, and what is worth logging. Every process moves its multiplier by the mean over all
        of them."""
        measured = gather_rows(extra.detach().reshape(1)).mean()
        if self.constraint is None:
            return {"loss": loss + self.weight * extra, "reconstruction": measured}
        multiplier = self.constraint.multiplier
        joint = loss + self.constraint(extra, measured)
        return {"loss": joint, "reconstruction": measured, "multiplier": multiplier}
