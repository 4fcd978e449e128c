"""A training step recorded once as a CUDA graph and replayed with every batch of the same shapes.

With small models a GPU waits: Python takes longer to launch the kernels of a step than the GPU to compute them.
A replayed step is one launch. The first steps run without recording, since they set up state. Then each shape that
comes a second time is recorded; rare shapes run without recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.recording import recorded

WARM_UP = 3
"""Steps that run before any is recorded."""
MOST = 48
"""Recordings to keep; they share memory, but each has a copy of its batch."""

REPLAYABLE = ("adam", "adamw", "adamp")
"""Optimisers that can count their steps on a device; torch's SGD reads its learning rate on the host."""

Values = dict[str, Tensor]


class NotRecordable(InputError):
    """A step that cannot be recorded; it trains without recording."""


@dataclass
class Recording:
    graph: torch.cuda.CUDAGraph
    inputs: list[Tensor]
    names: list[str]
    values: Tensor  # [F], overwritten by every replay


class Replay:
    """`replay(inputs, phase)` is `step(inputs)`, recorded where possible.

    step: forward, backward and update; its values are single numbers. It must not wait for a value from the device.
    """

    def __init__(self, step: Callable[[Any], Values]) -> None:
        self.step = step
        self.steps = 0
        self.met: Counter[Hashable] = Counter()
        self.recordings: dict[Hashable, Recording] = {}
        self.phase: Hashable = None
        self.pool: Any = None  # memory that the recordings of a phase share

    def __call__(self, inputs: Any, phase: Hashable) -> Values:
        tensors = tensors_of(inputs)
        if phase != self.phase:  # an earlier phase does not come back, and its recordings would only take memory
            self.recordings.clear()
            self.met.clear()
            self.phase = phase
        key = tuple((*tensor.shape, tensor.dtype) for tensor in tensors)
        found = self.recordings.get(key)
        self.steps += 1
        if found is None:
            self.met[key] += 1
            if self.steps <= WARM_UP or self.met[key] < 2 or len(self.recordings) >= MOST:
                return self.step(inputs)
            found = self.recordings[key] = self._record(inputs, tensors)
        for held, value in zip(found.inputs, tensors):
            held.copy_(value, non_blocking=True)
        found.graph.replay()
        return dict(zip(found.names, found.values.clone().unbind()))

    def _record(self, inputs: Any, tensors: list[Tensor]) -> Recording:
        """Record the step of this batch without running it."""
        if not self.recordings:
            self.pool = torch.cuda.graph_pool_handle()
        held = [tensor.clone() for tensor in tensors]
        own = with_tensors(inputs, iter(held))
        graph = torch.cuda.CUDAGraph()
        # Another thread makes batches meanwhile: its calls to the driver must not end up in the recording.
        try:
            with recorded(), torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
                values = self.step(own)
                together = torch.stack([value.double() for value in values.values()])
        except RuntimeError as error:
            raise NotRecordable(
                f"A step of this stage could not be recorded ({str(error).splitlines()[0]}); train without `replay`."
            ) from error
        return Recording(graph, held, list(values), together)


def tensors_of(tree: Any) -> list[Tensor]:
    """All tensors in nested dataclasses, mappings and tuples, in a fixed order. Other values are an error, since a
    replay would not see them change."""
    if isinstance(tree, Tensor):
        return [tree]
    return [tensor for part in _parts(tree) for tensor in tensors_of(part)]


def with_tensors(tree: Any, tensors: Any) -> Any:
    """The same tree with other tensors, taken in the order of `tensors_of`."""
    if isinstance(tree, Tensor):
        return next(tensors)
    if isinstance(tree, Mapping):
        return {name: with_tensors(part, tensors) for name, part in tree.items()}
    if isinstance(tree, tuple):
        return tuple(with_tensors(part, tensors) for part in tree)
    if is_dataclass(tree) and not isinstance(tree, type):
        return replace(tree, **{f.name: with_tensors(getattr(tree, f.name), tensors) for f in fields(tree)})
    return tree


def _parts(tree: Any) -> list[Any]:
    if isinstance(tree, Mapping):
        return list(tree.values())
    if isinstance(tree, tuple):
        return list(tree)
    if is_dataclass(tree) and not isinstance(tree, type):
        return [getattr(tree, f.name) for f in fields(tree)]
    if tree is None:
        return []
    raise TypeError(f"a {type(tree).__name__} among a step's inputs would stay as it was when the step was recorded")


def make_replayable(optimiser: torch.optim.Optimizer, device: torch.device) -> None:
    """Move learning rates and step counts to the device, where a replayed step reads and writes them. Where torch
    can, one kernel updates all weights, since launches are what a replayed step waits for."""
    for settings in optimiser.param_groups:
        settings["lr"] = torch.tensor(float(settings["lr"]), device=device)
        if "capturable" in settings:
            settings["capturable"] = True
        if "fused" in settings and device.type == "cuda":
            settings["fused"] = True
    for state in optimiser.state.values():
        if isinstance(state.get("step"), Tensor):
            state["step"] = state["step"].to(device)
