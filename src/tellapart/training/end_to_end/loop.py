"""The training loop of the joint model: batches drawn on the device, and a schedule that ends on time.

Progress is the larger share of steps and of time, so that the learning rate reaches its end when the time is up.
A step that runs out of memory halves the batch; a compiled step that fails is repeated without compilation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tellapart.images.crops import Crops
from tellapart.training.end_to_end.drawing import CaptionTable, HardNegatives, Rows, with_look_alikes
from tellapart.training.end_to_end.joint import JointModel, LossWeights, Parts, joint_loss
from tellapart.training.end_to_end.learner import Learner
from tellapart.training.end_to_end.optimiser import Rates, learning_rate_factor
from tellapart.training.end_to_end.pixels import PixelStore

Log = Callable[[str], None]


@dataclass(frozen=True)
class Settings:
    """Settings of joint training."""

    size: int = 260
    """Side in pixels of the backbone's input."""
    batch: int = 512
    """Images per step."""
    seconds: float = 517.0
    """Training ends after this time or `most_steps`, whichever comes first; the learning rate falls accordingly."""
    most_steps: int = 1_000_000
    """Most steps."""
    warm_up: int = 300
    """Steps in which the learning rate rises."""
    matched: int = 2
    """Captions per image in the contrastive loss."""
    described: int = 5
    """Captions per image in the likelihood."""
    average: float = 0.999
    """Decay of the running average of the weights."""
    clip: float = 1.0
    """Longest gradient."""
    least_area: float = 0.6
    """Smallest share of an image's area in a random crop."""
    compiled: bool = True
    """Compile the model if that is faster."""
    checkpoint_seconds: float = 150.0
    """Seconds between checkpoints."""
    log_every: int = 20
    """Steps between log lines."""
    weights: LossWeights = field(default_factory=LossWeights)
    """Weights of the losses."""
    rates: Rates = field(default_factory=Rates)
    """Learning rates."""


def mixed_precision(device: torch.device) -> AbstractContextManager[object]:
    """bfloat16 on a GPU, float32 on a CPU."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")


class Training(Learner):
    """A model in training with its images, captions and compiled parts."""

    def __init__(
        self,
        model: JointModel,
        store: PixelStore,
        texts: CaptionTable,
        words: CaptionTable,
        settings: Settings,
        log: Log,
    ) -> None:
        super().__init__(model, store, texts, words, settings)
        self.settings, self.log = settings, log
        self.hard: HardNegatives | None = None
        """Look-alikes to add to every batch."""
        self.parts = Parts.of(model, settings.weights, settings.compiled)

    def warm(self) -> None:
        """Compile by running a batch forward and backward, and keep compilation only where it is faster.

        Weights and statistics stay as they are.
        """
        before = {name: value.clone() for name, value in self.model.named_buffers()}
        self.model.train()
        begin = time.monotonic()
        took = self._timed()
        self.log(f"first steps took {time.monotonic() - begin:.1f} s; then {took:.3f} s per step of {self.batch}")
        if self.parts.compiled:
            compiled, self.parts = self.parts, Parts.of(self.model, self.settings.weights, compiled=False)
            plain = self._timed()
            self.log(f"seconds per step: compiled {took:.3f}, not compiled {plain:.3f}")
            if took < plain:
                self.parts = compiled
        with torch.no_grad():
            for name, value in self.model.named_buffers():
                value.copy_(before[name])

    def _timed(self, steps: int = 3) -> float:
        """Seconds per forward and backward pass after two passes that do not count."""
        rows = torch.arange(self.batch, device=self.device) % len(self.store.pixels)
        begin = time.monotonic()
        for number in range(steps + 2):
            if number == 2:
                self._synchronise()
                begin = time.monotonic()
            self._guarded(lambda: torch.autograd.backward(self._losses(rows[: self.batch])["loss"]))
            self.optimiser.zero_grad(set_to_none=True)
        self._synchronise()
        return (time.monotonic() - begin) / steps

    def _synchronise(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def run(self, available: Callable[[], np.ndarray], checkpoint: Callable[[JointModel, int], None]) -> int:
        """Train until the settings' time or steps are spent; returns the number of steps."""
        settings, rows = self.settings, Rows(available, self.device)
        begin = last_log = last_kept = time.monotonic()
        step, images, epochs = 0, 0, 0.0
        while True:
            spent = time.monotonic() - begin
            progress = max(step / settings.most_steps, spent / settings.seconds)
            if progress >= 1:
                return step
            self.set_rates(learning_rate_factor(step, progress, settings.warm_up))
            drawn = rows.draw(self.batch, ask=step % 50 == 0)
            if self.hard is not None:
                drawn = with_look_alikes(drawn, self.hard.neighbours, self.hard.share)
            losses = self._guarded(lambda drawn=drawn: self._step(drawn))  # type: ignore[misc]
            step, images = step + 1, images + len(drawn)
            epochs += len(drawn) / max(len(rows.order), 1)
            if losses is not None and (step % settings.log_every == 0 or step <= 3):
                shown = {name: round(float(value), 4) for name, value in losses.items()}  # waits for the device
                now = time.monotonic()
                speed = images / max(now - last_log, 1e-6)
                self.log(
                    f"step {step} epoch {epochs:.2f} progress {progress:.3f} images/s {speed:.0f} "
                    f"s/epoch {len(rows.order) / max(speed, 1e-6):.1f} batch {self.batch} {shown}"
                )
                last_log, images = now, 0
            if time.monotonic() - last_kept > settings.checkpoint_seconds and progress < 0.95:
                checkpoint(self.average.model, step)  # type: ignore[arg-type]
                last_kept = time.monotonic()

    def _losses(self, rows: Tensor) -> dict[str, Tensor]:
        settings = self.settings
        crops = Crops.random(len(rows), self.device, settings.least_area)
        pixels = self.store.cropped(rows, crops, settings.size)
        texts = self.texts.draw(rows, crops.flipped, settings.matched)
        words = self.words.draw(rows, crops.flipped, settings.described)
        with mixed_precision(self.device):
            return joint_loss(self.model, self.parts, settings.weights, pixels, texts, words)

    def _step(self, rows: Tensor) -> dict[str, Tensor]:
        self.model.train()
        losses = self._losses(rows)
        torch.autograd.backward(losses["loss"])
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.apply_gradient(norm)
        return {**{name: value.detach() for name, value in losses.items()}, "norm": norm}

    def _guarded(self, work: Callable[[], Any]) -> Any:
        """The result of the work, or None where it ran out of memory and the batch was halved."""
        try:
            return work()
        except torch.OutOfMemoryError as error:
            self.log(self.halve_batch(error))
        except Exception as error:
            if not self.parts.compiled:
                raise
            why = f"{type(error).__name__} {str(error)[:300]}"
            self.log(f"compiled step failed, training continues without compilation: {why}")
            self.parts = Parts.of(self.model, self.settings.weights, compiled=False)
        self.forget_gradient()
        return None
