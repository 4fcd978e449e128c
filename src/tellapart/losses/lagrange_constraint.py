"""A loss that must only stay below a bound: a Lagrange multiplier that tunes itself by gradient ascent."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class LagrangeConstraint(nn.Module):
    """lambda (L_rec / eta - 1) of the LTD paper, Eq. 9: what a constraint L_rec <= eta adds to the main loss.

    The multiplier climbs while the bound is broken and falls when it is met. It is a buffer that this module
    moves itself, once for every `forward` in training: the trainer needs no second optimiser, and a
    checkpoint holds it. The loss of a step uses the multiplier from before that step's ascent, as a joint
    optimiser would.

    The raw multiplier is free and only its use is clamped, with the gradient passed straight through: one
    that drifted out of range has to come back by itself. Ascent is SGD with momentum and dampening as torch
    writes it (the first step takes the whole gradient).

    Args:
        bound: eta.
        start: the multiplier's first value.
        lowest, highest: what the multiplier is clamped to where it is used.
        rate, momentum, dampening: of the ascent.
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
        rate: float = 5e-3,
        momentum: float = 0.9,
        dampening: float = 0.9,
    ) -> None:
        super().__init__()
        if bound <= 0:
            raise ValueError(f"the bound of a constraint must be positive, not {bound}")
        self.bound = bound
        self.lowest, self.highest = lowest, highest
        self.rate, self.momentum, self.dampening = rate, momentum, dampening
        self.register_buffer("raw", torch.tensor(float(start)))
        self.register_buffer("velocity", torch.tensor(0.0))
        self.register_buffer("steps", torch.tensor(0, dtype=torch.long))

    @property
    def multiplier(self) -> Tensor:
        """lambda as it is used: a copy, so that the ascent never touches a value autograd still needs."""
        return self.raw.clamp(self.lowest, self.highest).clone()

    def forward(self, loss: Tensor, measured: Tensor | None = None) -> Tensor:
        """`measured` is the value the ascent sees where it differs from `loss` (the mean over all processes,
        say)."""
        term = self.multiplier * (loss / self.bound - 1)
        if self.training:
            self.ascend(loss if measured is None else measured)
        return term

    @torch.no_grad()
    def ascend(self, loss: Tensor) -> None:
        slope = (loss.detach() / self.bound - 1).to(self.raw.dtype)
        damped = self.momentum * self.velocity + (1 - self.dampening) * slope
        self.velocity.copy_(torch.where(self.steps > 0, damped, slope))
        self.raw.add_(self.rate * self.velocity)
        self.steps.add_(1)
