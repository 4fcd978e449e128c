"""Ranges and means of the activations of a torch model on example inputs, for its graph in int8."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tellapart.exported.ranges import Range

CLIPPED = 3e-5
"""Share of the values of a batch beyond each end of a range: rare large ones would make all levels coarser. In a
transformer nothing may be clipped: few values of few cells are large, and much depends on them."""
SAMPLED = 200_000
"""Values of a batch that are sorted to find its ends."""


class Watched:
    """Collects the ends of values under names, batch by batch; a range has the mean of the ends.

    clipped: the share beyond each end; 0 for ranges of everything that was seen.
    """

    def __init__(self, clipped: float = CLIPPED) -> None:
        self.clipped = clipped
        self.lowest: dict[str, list[float]] = {}
        self.highest: dict[str, list[float]] = {}

    def see(self, name: str, values: Tensor) -> None:
        """Add a batch of values."""
        flat = values.detach().float().flatten()
        if not self.clipped:
            self.lowest[name] = [min(float(flat.min()), *self.lowest.get(name, [math.inf]))]
            self.highest[name] = [max(float(flat.max()), *self.highest.get(name, [-math.inf]))]
            return
        flat = flat[:: max(1, len(flat) // SAMPLED)]
        beyond = max(1, round(len(flat) * self.clipped))
        self.lowest.setdefault(name, []).append(float(flat.kthvalue(beyond).values))
        self.highest.setdefault(name, []).append(float(flat.kthvalue(len(flat) - beyond + 1).values))

    def ranges(self) -> dict[str, Range]:
        """The range of every name."""
        return {name: Range(_mean(self.lowest[name]), _mean(self.highest[name])) for name in self.lowest}


class ChannelMeans:
    """Collects the means of channels [C] of values [I, C, H, W] under names."""

    def __init__(self) -> None:
        self.sums: dict[str, tuple[int, Tensor]] = {}

    def see(self, name: str, values: Tensor) -> None:
        """Add a batch of values."""
        count, total = self.sums.get(name, (0, torch.zeros(values.shape[1], dtype=torch.float64)))
        self.sums[name] = count + 1, total + values.detach().mean((0, 2, 3)).double()

    def means(self) -> dict[str, np.ndarray]:
        """The mean of every name."""
        return {name: (total / count).numpy() for name, (count, total) in self.sums.items()}


def watch_outputs(watched: Watched, modules: Mapping[str, nn.Module]) -> Callable[[], None]:
    """Watch the results of modules from now on; call the result to stop."""

    def hook(name: str) -> Callable[..., None]:
        return lambda module, inputs, output: watched.see(name, output)

    handles = [module.register_forward_hook(hook(name)) for name, module in modules.items()]
    return _remover(handles)


def watch_inputs(watched: Watched | ChannelMeans, modules: Mapping[str, nn.Module]) -> Callable[[], None]:
    """Watch the first inputs of modules from now on; call the result to stop."""

    def hook(name: str) -> Callable[..., None]:
        return lambda module, inputs: watched.see(name, inputs[0])

    handles = [module.register_forward_pre_hook(hook(name)) for name, module in modules.items()]
    return _remover(handles)


@torch.no_grad()
def run_all(function: Callable[[Any], object], batches: Iterable[Any]) -> None:
    """Call a function on every batch, without gradients."""
    for batch in batches:
        function(batch)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _remover(handles: list[Any]) -> Callable[[], None]:
    def stop() -> None:
        for handle in handles:
            handle.remove()

    return stop
