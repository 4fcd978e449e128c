"""Averages of weights: within each epoch (SWA as LTD trains), or a moving one (EMA)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.runs.recipe import Average


class WeightAverage:
    """Keeps a running average of a module's floating-point parameters.

    kind epoch: snapshots at even distances after `start` of the epoch; `end_epoch` replaces the weights by their mean,
    which is evaluated and from which the next epoch starts (as in LTD's released training).
    kind ema: a moving mean after every step; `evaluated` puts it into the module while an evaluation runs.
    """

    def __init__(self, settings: Average, module: nn.Module) -> None:
        self.settings, self.module = settings, module
        self.count = 0
        self.mean: dict[str, Tensor] = {}
        if settings.kind == "ema":
            self.mean = {name: p.detach().clone() for name, p in self._weights()}
        elif settings.kind != "epoch":
            raise InputError(f"Unknown average '{settings.kind}'; use epoch or ema.")

    def _weights(self) -> Iterator[tuple[str, Tensor]]:
        for name, parameter in self.module.named_parameters():
            if parameter.requires_grad:
                yield name, parameter

    @torch.no_grad()
    def after_step(self, step: int, steps: int) -> None:
        """Update the average; `step` counts from 0 within an epoch of `steps`."""
        if self.settings.kind == "ema":
            self.count += 1
            # Young averages must not be dominated by the random start.
            decay = min(self.settings.decay, (1 + self.count) / (10 + self.count))
            names, weights = zip(*self._weights())
            torch._foreach_lerp_([self.mean[name] for name in names], list(weights), 1 - decay)
        elif step in self._snapshot_steps(steps):
            self.count += 1
            for name, parameter in self._weights():
                if self.count == 1:
                    self.mean[name] = parameter.detach().clone()
                else:
                    self.mean[name].lerp_(parameter, 1 / self.count)

    def _snapshot_steps(self, steps: int) -> set[int]:
        first = min(int(self.settings.start * steps), steps - 1)
        intervals = max(self.settings.snapshots - 1, 1)
        return {round(first + (steps - 1 - first) * i / intervals) for i in range(self.settings.snapshots)}

    @torch.no_grad()
    def end_epoch(self) -> None:
        """Replace the weights by the epoch's mean, for kind epoch."""
        if self.settings.kind == "epoch" and self.count:
            for name, parameter in self._weights():
                parameter.copy_(self.mean[name])
            self.count, self.mean = 0, {}

    @contextlib.contextmanager
    def evaluated(self) -> Iterator[None]:
        """While the block runs, the module holds the weights to evaluate and to keep."""
        if self.settings.kind != "ema":
            yield
            return
        own = {name: p.detach().clone() for name, p in self._weights()}
        with torch.no_grad():
            for name, parameter in self._weights():
                parameter.copy_(self.mean[name])
        try:
            yield
        finally:
            with torch.no_grad():
                for name, parameter in self._weights():
                    parameter.copy_(own[name])
