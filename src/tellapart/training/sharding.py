"""Weights, gradients and moments sharded across processes (FSDP2), for models that do not fit otherwise.

Every process holds a part of each weight. A block gathers its weights just before it computes, and frees them after.
All processes must take part in every gathering, so that work of one process alone (an evaluation), or work that differs
between processes (sampling captions), uses plain copies of all weights: `Sharded.whole`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from tellapart.core.distributed import group
from tellapart.core.errors import InputError
from tellapart.core.types import Batch
from tellapart.models.vision import batch_as_seen
from tellapart.objectives.latent_target import LatentTarget
from tellapart.objectives.likelihood import Likelihood
from tellapart.objectives.ranking import Ranking
from tellapart.objectives.reference_contrast import ReferenceContrastLearning
from tellapart.objectives.self_critical import SelfCritical
from tellapart.runs.recipe import Recipe, Stage
from tellapart.training.sharded_tensors import whole_tensor

SHARDABLE = (Ranking, LatentTarget, Likelihood, ReferenceContrastLearning, SelfCritical)
"""Objectives whose `forward` calls the same blocks on every process, whatever the batch."""
OPTIMISERS = ("adam", "adamw", "sgd")
"""Optimisers that treat each number of a weight by itself."""
BLOCKS = ("transformers.", "timm.", "torch.nn.")
"""Packages whose lists of blocks are called block by block."""


def check_sharding(recipe: Recipe, chosen: frozenset[str], compiled: bool) -> None:
    """Raise an InputError where a stage cannot be trained with sharded weights."""
    if group().world == 1:
        raise InputError("`shard` needs several processes: start training with torchrun.")
    if compiled:
        raise InputError("`shard` and `compile` do not work together; use one of them.")
    for stage in recipe.stages:
        reason = _reason_against(stage) if stage.name in chosen else ""
        if reason:
            raise InputError(f"Stage '{stage.name}' cannot be trained with `shard`: {reason}.")


def _reason_against(stage: Stage) -> str:
    if not isinstance(stage.objective, SHARDABLE):
        return f"{type(stage.objective).__name__} is not one of {', '.join(kind.__name__ for kind in SHARDABLE)}"
    if isinstance(stage.objective, SelfCritical) and not stage.objective.reread:
        return "processes sample captions of different lengths; set objective.reread=true"
    if stage.optimiser.kind not in OPTIMISERS:
        return f"{stage.optimiser.kind} needs whole weights; set optimiser.kind to {' or '.join(OPTIMISERS)}"
    if stage.precision == "float16":
        return "float16 scales the loss by what one process sees; set precision=bfloat16"
    if stage.also_validated_by:
        return "losses of earlier stages validate it (also_validated_by)"
    return ""


class Sharded(nn.Module):
    """An objective with sharded weights; calling it trains. Frozen parts beside the model stay whole on every process.

    Args:
        objective: with plain weights; its modules are changed in place.
        device: of this process.
    """

    def __init__(self, objective: nn.Module, device: torch.device) -> None:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard  # both take a second to import

        super().__init__()
        self.objective = objective
        # A dict, so that the copies are no submodules.
        self.plain = {name: _emptied(child) for name, child in objective.named_children() if _learns(child)}
        kept_whole = set(_kept_whole(objective))
        if any(weight.requires_grad for weight in kept_whole):
            raise InputError("`shard` cannot train weights that are single numbers; freeze them (STAGE.frozen).")
        if device.type == "cuda":
            torch.cuda.set_device(device)
        mesh = init_device_mesh(device.type, (group().world,))
        for block in blocks(objective.get_submodule("model")):
            fully_shard(block, mesh=mesh, ignored_params=kept_whole)
        fully_shard(self, mesh=mesh, ignored_params=kept_whole)

    def forward(self, batch: Batch, *prepared: Any) -> dict[str, Tensor]:
        """The objective's values."""
        values: dict[str, Tensor] = self.objective(
            batch_as_seen(self.objective.get_submodule("model"), batch), *prepared
        )
        return values

    @contextmanager
    def whole(self) -> Iterator[None]:
        """While the block runs, the objective has plain copies of its weights on every process; all processes must
        enter together, and each may then do something else."""
        sharded = {name: self.objective.get_submodule(name) for name in self.plain}
        try:
            for name, child in sharded.items():
                setattr(self.objective, name, _filled(self.plain[name], child))
            yield
        finally:
            for name, child in sharded.items():
                setattr(self.objective, name, child)
                for weight in self.plain[name].parameters():
                    weight.data = weight.new_empty(0)

    def plain_model(self) -> nn.Module:
        """The model with plain weights; all processes must call it together, when training has ended."""
        return _filled(self.plain.pop("model"), self.objective.get_submodule("model"))


def blocks(model: nn.Module) -> list[nn.Module]:
    """The blocks of a model that gather their weights by themselves: members of lists, none inside another."""
    found: list[nn.Module] = []
    inside: set[nn.Module] = set()
    for module in model.modules():
        if isinstance(module, nn.ModuleList) and module not in inside:
            fitting = [block for block in module if type(block).__module__.startswith(BLOCKS)]
            found += [block for block in fitting if any(True for _ in block.parameters())]
            inside |= {part for block in fitting for part in block.modules()}
    return found


def _learns(child: nn.Module) -> bool:
    return any(weight.requires_grad for weight in child.parameters())


def _kept_whole(objective: nn.Module) -> Iterator[nn.Parameter]:
    """Weights that are not sharded: single numbers, and those of frozen references and judges."""
    for name, child in objective.named_children():
        for weight in child.parameters():
            if weight.dim() == 0 or not (name == "model" or _learns(child)):
                yield weight
    yield from objective.parameters(recurse=False)


def _emptied(module: nn.Module) -> nn.Module:
    """A copy of a module whose weights have no numbers yet."""
    empty: dict[int, Any] = {
        id(weight): nn.Parameter(weight.detach().new_empty(0), weight.requires_grad) for weight in module.parameters()
    }
    return copy.deepcopy(module, empty)


def _filled(plain: nn.Module, sharded: nn.Module) -> nn.Module:
    """The plain copy of a sharded module, with its weights, buffers and mode."""
    modes = {name: part.training for name, part in sharded.named_modules()}
    for name, part in plain.named_modules():
        part.training = modes[name]
    for (name, weight), (other, part) in zip(plain.named_parameters(), sharded.named_parameters(), strict=True):
        assert name == other
        weight.data = whole_tensor(part.detach())
    for target, value in zip(plain.buffers(), sharded.buffers(), strict=True):
        target.copy_(value)
    return plain
