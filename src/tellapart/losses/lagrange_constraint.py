"""A loss held below a bound by a Lagrange multiplier, which gradient ascent adapts."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class LagrangeConstraint(nn.Module):
    """lambda (L_rec / eta - 1) of the LTD paper, Eq. 9: the term that a constraint L_rec <= eta adds to the main loss.

    The multiplier rises while the bound is violated and falls while it is met. It is a buffer that this module updates
    at every `forward` in training: the trainer needs no second optimiser, and a checkpoint stores it. The loss of a
    step uses the multiplier from before the update, as a joint optimiser would.

    The raw multiplier is not clamped, only its use, and the gradient passes straight through: a multiplier that
    drifted out of range has to return by itself. The ascent is SGD with momentum and dampening as in torch (the first
    step takes the whole gradient).

    Args:
        bound: eta.
        start: the multiplier's first value.
        lowest, highest: the range the multiplier is clamped to where it is used.
        lr, momentum, dampening: of the ascent.
    """

    raw: Tensor
    velocity: Tensor
    steps: Tensor

    def __init__(
        self,
        bound: float,
        start: float = 1.0,
        lowest: float = 0.0,
        highest: float = 100.0,
        lr: float = 5e-3,
        momentum: float = 0.9,
        dampening: float = 0.9,
    ) -> None:
        super().__init__()
        if bound <= 0:
            raise ValueError(f"bound must be positive, not {bound}")
        self.bound = bound
        self.lowest, self.highest = lowest, highest
        self.lr, self.momentum, self.dampening = lr, momentum, dampening
        self.register_buffer("raw", torch.tensor(float(start)))
        self.register_buffer("velocity", torch.tensor(0.0))
        self.register_buffer("steps", torch.tensor(0, dtype=torch.long))

    @property
    def multiplier(self) -> Tensor:
        """lambda, clamped; a copy, so that the ascent never changes a value that autograd still needs."""
        return self.raw.clamp(self.lowest, self.highest).clone()

    def forward(self, loss: Tensor, measured: Tensor | None = None) -> Tensor:
        """lambda (L_rec / eta - 1), a scalar, for a scalar L_rec.

        measured: the value that the ascent uses, if not `loss` (for example the mean over all processes).
        """
        term = self.multiplier * (loss / self.bound - 1)
        if self.training:
            self.ascend(loss if measured is None else measured)
        return term

    @torch.no_grad()
    def ascend(self, loss: Tensor) -> None:
        """Move the multiplier one step along the gradient L_rec / eta - 1."""
        slope = (loss.detach() / self.bound - 1).to(self.raw.dtype)
        damped = self.momentum * self.velocity + (1 - self.dampening) * slope
        self.velocity.copy_(torch.where(self.steps > 0, damped, slope))
        self.raw.add_(self.lr * self.velocity)
        self.steps.add_(1)
