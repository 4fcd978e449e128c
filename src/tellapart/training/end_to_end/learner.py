"""A joint model that learns: its data, its optimiser, the average of its weights, and a batch that fits the memory."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from tellapart.training.end_to_end.average import Average
from tellapart.training.end_to_end.drawing import CaptionTable
from tellapart.training.end_to_end.joint import JointModel
from tellapart.training.end_to_end.optimiser import Rates, optimiser
from tellapart.training.end_to_end.pixels import PixelStore

LEAST_BATCH = 8
"""A batch of this size or less is not halved."""


class Steps(Protocol):
    """The settings of every kind of training."""

    @property
    def batch(self) -> int:
        """Images per step."""
        ...

    @property
    def average(self) -> float:
        """Decay of the running average of the weights."""
        ...

    @property
    def rates(self) -> Rates:
        """Learning rates."""
        ...


class Learner:
    """A model in training; `average` is the model to keep.

    Args:
        model: trained in place.
        store: its images.
        texts: their captions as the matcher reads them.
        words: the same as the captioner reads them.
        steps: how it is trained.
    """

    def __init__(
        self, model: JointModel, store: PixelStore, texts: CaptionTable, words: CaptionTable, steps: Steps
    ) -> None:
        self.model, self.store, self.texts, self.words = model, store, texts, words
        self.batch, self.device = steps.batch, store.pixels.device
        self.fused = self.device.type == "cuda"
        self.optimiser = optimiser(model, steps.rates, self.fused)
        self.average = Average(model, steps.average)

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
