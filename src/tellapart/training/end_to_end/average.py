"""A running average of the weights of a model: the weights that are measured and saved."""

from __future__ import annotations

import copy

import torch
from torch import nn


class Average:
    """`model` holds decay * average + (1 - decay) * weights after each update; floating-point buffers are copied.

    The decay of update n is at most (1 + n) / (10 + n), so that the first weights are soon forgotten.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay, self.updates = decay, 0

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        self.updates += 1
        torch._foreach_lerp_(list(self.model.parameters()), [p.detach() for p in model.parameters()], 1 - decay)
        pairs = [pair for pair in zip(self.model.buffers(), model.buffers()) if pair[0].is_floating_point()]
        if pairs:
            torch._foreach_copy_([kept for kept, _ in pairs], [new for _, new in pairs])
