"""A joint model that learns: its optimiser, the average of its weights, and a batch that fits the memory."""

from __future__ import annotations

import torch
from torch import Tensor

from tellapart.training.end_to_end.average import Average
from tellapart.training.end_to_end.joint import JointModel
from tellapart.training.end_to_end.optimiser import Rates, optimiser

LEAST_BATCH = 8
"""A batch of this size or less is not halved."""


class Learner:
    """A model in training; `average` is the model to keep."""

    def __init__(self, model: JointModel, rates: Rates, average: float, batch: int, device: torch.device) -> None:
        self.model, self.batch, self.device = model, batch, device
        self.fused = device.type == "cuda"
        self.optimiser = optimiser(model, rates, self.fused)
        self.average = Average(model, average)

    def set_rates(self, factor: float) -> None:
        """Give every group of parameters its peak learning rate times the factor."""
        for group in self.optimiser.param_groups:
            group["lr"] = group["peak"] * factor

    def apply_gradient(self, norm: Tensor) -> None:
        """One step of the optimiser and of the average; norm: of the gradient.

        On a GPU, a step whose gradient is not finite changes nothing, without waiting for the device.
        """
        if self.fused:
            self.optimiser.found_inf = (~torch.isfinite(norm)).float().reshape(())  # type: ignore[attr-defined]
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        self.average.update(self.model)

    def halve_batch(self, error: torch.OutOfMemoryError) -> str:
        """Halve the batch after a lack of memory; returns what to log. Raises the error if the batch is small."""
        if self.batch <= LEAST_BATCH:
            raise error
        self.batch //= 2
        return f"out of memory: the batch is now {self.batch} ({str(error)[:120]})"

    def forget_gradient(self) -> None:
        """Drop a gradient that was not applied, and the memory that it took."""
        self.optimiser.zero_grad(set_to_none=True)
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
