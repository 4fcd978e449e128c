"""A stand-in for CUDA graphs on machines without a GPU: steps run at once, but nothing may be asked of the device."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode

from tellapart.core.recording import recorded
from tellapart.training.replay import tensors_of, with_tensors

aten = torch.ops.aten
QUESTIONS = {
    aten._local_scalar_dense,
    aten.nonzero,
    aten.masked_select,
    aten._unique2,
    aten.unique_dim,
    aten.unique_consecutive,
    aten.bincount,
    aten.lift_fresh,
}
"""What makes a host wait for a device, or copies a number from the host to it."""


class NoQuestions(TorchDispatchMode):
    """Fails where a recorded step would: at a number asked for, or a shape that depends on data.

    Torch's own optimisers are let alone: on a host they count otherwise than on a GPU.
    """

    updating = False

    def __enter__(self) -> NoQuestions:
        self.hooks = (
            register_optimizer_step_pre_hook(lambda *_: setattr(self, "updating", True)),
            register_optimizer_step_post_hook(lambda *_: setattr(self, "updating", False)),
        )
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        for hook in self.hooks:
            hook.remove()
        super().__exit__(*error)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.updating:
            return func(*args, **(kwargs or {}))
        packet = func.overloadpacket
        masks = packet in (aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_)
        if packet in QUESTIONS or (masks and any(i is not None and i.dtype == torch.bool for i in args[1])):
            raise AssertionError(f"a recorded step may not call {func}")
        if func == aten.repeat_interleave.Tensor:
            raise AssertionError("a recorded step may not repeat by numbers on the device")
        return func(*args, **(kwargs or {}))


def plain_state(objective: nn.Module) -> dict[str, Any]:
    """Numbers and marks that modules hold in Python: a replay would not move them."""
    return {
        f"{name}.{key}": value
        for name, module in objective.named_modules()
        for key, value in vars(module).items()
        if value is None or isinstance(value, bool | int | float | str)
    }


class PretendedReplay:
    """In `training.replay.Replay`'s place."""

    phases: ClassVar[list[Hashable]] = []
    """Of every step there was."""
    objective: nn.Module | None = None
    """Whose steps these are, once the fixture has said so."""

    def __init__(self, step: Callable[[Any], dict[str, Tensor]]) -> None:
        self.step = step

    def __call__(self, inputs: Any, phase: Hashable) -> dict[str, Tensor]:
        PretendedReplay.phases.append(phase)
        copied = with_tensors(inputs, iter([tensor.clone() for tensor in tensors_of(inputs)]))
        before = plain_state(self.objective) if self.objective is not None else {}
        with recorded(), NoQuestions():
            figures = self.step(copied)
        assert before == (plain_state(self.objective) if self.objective is not None else {})
        return figures
