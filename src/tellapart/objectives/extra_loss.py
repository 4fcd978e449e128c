"""Adds a second loss to the ranking loss: with a weight, or as a constraint below a bound."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor, nn

from tellapart.core.distributed import gather_rows, global_count
from tellapart.core.errors import InputError
from tellapart.core.fields import renamed
from tellapart.data.sampling import LATER
from tellapart.losses.lagrange_constraint import LagrangeConstraint


@dataclass(frozen=True)
class Joining:
    """How the reconstruction loss L_rec joins the ranking loss L.

    `bound` 0: the dual loss L + weight L_rec (LTD paper, Eq. 7). Otherwise: the constraint L_rec <= bound with a
    Lagrange multiplier (Eqs. 8 and 9).
    """

    weight: float = 1.0
    """beta of the dual loss."""
    bound: float = 0.0
    """eta; the paper tries 0.05 … 0.3 for latent targets and 0.5 … 6 for input targets. 0: the dual loss."""
    multiplier_start: float = 1.0
    """First value of lambda."""
    multiplier_highest: float = 100.0
    """Upper bound of lambda."""
    multiplier_lr: float = field(default=5e-3, metadata=renamed("multiplier_rate"))
    """Learning rate of the ascent of lambda."""
    multiplier_momentum: float = 0.9
    """Momentum and dampening of the ascent of lambda."""
    summed: bool = field(default=False, metadata=LATER)
    """Count the second loss once per pair of the batch. It belongs to a ranking loss with reduction=sum: one mean next
    to a sum of 128 hinges has hardly any gradient. `weight`, `bound` and lambda keep their meaning."""

    def build(self) -> ExtraLoss:
        """The module that adds the loss."""
        if self.bound < 0:
            raise InputError(f"joining.bound must be positive, or 0 for the dual loss, not {self.bound:g}.")
        if self.bound == 0:
            return ExtraLoss(self.weight, None, self.summed)
        constraint = LagrangeConstraint(
            self.bound,
            self.multiplier_start,
            highest=self.multiplier_highest,
            lr=self.multiplier_lr,
            momentum=self.multiplier_momentum,
            dampening=self.multiplier_momentum,
        )
        return ExtraLoss(self.weight, constraint, self.summed)


class ExtraLoss(nn.Module):
    """The sum of two losses; see `Joining`."""

    def __init__(self, weight: float, constraint: LagrangeConstraint | None, summed: bool = False) -> None:
        super().__init__()
        self.weight = weight
        self.constraint = constraint
        self.summed = summed

    def forward(self, loss: Tensor, extra: Tensor, pairs: int) -> dict[str, Tensor]:
        """The joint loss and values to log, from two scalars and the number of pairs of this process's batch.

        All processes update the multiplier with the mean of `extra`.
        """
        measured = gather_rows(extra.detach().reshape(1)).mean()
        times = global_count(pairs, extra.device) if self.summed else 1
        if self.constraint is None:
            return {"loss": loss + times * self.weight * extra, "reconstruction": measured}
        multiplier = self.constraint.multiplier
        joint = loss + times * self.constraint(extra, measured)
        return {"loss": joint, "reconstruction": measured, "multiplier": multiplier}
