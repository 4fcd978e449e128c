"""The whole state of a training run as safetensors and JSON, in a folder that is renamed into place when complete.

Folders are numbered; the newest complete one counts. A kill at any moment, also during a save, leaves the one before
it. No pickle: a checkpoint from a stranger cannot run code."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from tellapart.core.distributed import group
from tellapart.core.explained import explained
from tellapart.core.files import atomic_folder, read_json, write_json
from tellapart.runs.old_names import renamed_weights
from tellapart.training.random_state import random_states, restore_random
from tellapart.training.sharded_tensors import shard_like, whole_tensor


@dataclass
class Position:
    """Where a run is: everything that is not a tensor."""

    stage: int = 0
    epoch: int = 0
    step: int = 0
    """Batches of this epoch already used."""
    updates: int = 0
    """Optimiser steps of this stage so far."""
    total: int = 0
    """Batches of the whole run so far: the x-axis of the log."""
    best: float | None = None
    best_epoch: int = 0
    """The epoch of the best evaluation, from 1; 0 in a checkpoint of an earlier version."""
    stale: int = 0
    """Evaluations since the best one."""
    sums: dict[str, float] = field(default_factory=dict)
    """Sums of this epoch's values so far."""


def save_checkpoint(
    folder: Path,
    position: Position,
    objective: nn.Module,
    optimiser: torch.optim.Optimizer,
    average: Any = None,
    scaler: torch.amp.GradScaler | None = None,
) -> None:
    """Write a checkpoint and remove older ones; all processes call it together and the main one writes."""
    tensors = {f"objective.{name}": value for name, value in objective.state_dict().items()}
    moments = optimiser.state_dict()
    plain: dict[str, Any] = {"position": vars(position), "groups": _plain_groups(moments), "numbers": {}}
    for index, state in moments["state"].items():
        for name, value in state.items():
            if isinstance(value, Tensor):
                tensors[f"optimiser.{index}.{name}"] = value
            else:
                plain["numbers"][f"{index}.{name}"] = value
    if average is not None:
        tensors |= {f"average.{name}": value for name, value in average.mean.items()}
        plain["average"] = average.count
    if scaler is not None:
        plain["scaler"] = scaler.state_dict()
    states, drawn = random_states()
    tensors, plain = tensors | states, plain | drawn
    stored = _gathered(tensors)
    if not group().is_main:
        return
    own = folder / f"{position.total:09d}"
    with atomic_folder(own) as partial:
        save_file(stored, partial / "state.safetensors")
        write_json(partial / "state.json", plain)
    for other in folder.iterdir():
        if other != own:
            shutil.rmtree(other, ignore_errors=True)


def _gathered(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Whole copies in the main process, one after the other; clones, since safetensors rejects tensors that share
    memory (tied weights)."""
    stored = {}
    for name, value in tensors.items():
        whole = whole_tensor(value.detach())
        if group().is_main:
            stored[name] = whole.cpu().contiguous().clone()
    return stored


def newest_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint, if any; interrupted saves begin with a dot and do not count."""
    whole = [path for path in folder.glob("[0-9]*") if (path / "state.json").is_file()] if folder.is_dir() else []
    return max(whole, default=None, key=lambda path: int(path.name))


def read_position(checkpoint: Path) -> Position:
    """The position that a checkpoint was written at."""
    with _reading(checkpoint):
        return Position(**read_json(checkpoint / "state.json")["position"])


def restore_checkpoint(
    checkpoint: Path,
    objective: nn.Module,
    optimiser: torch.optim.Optimizer,
    average: Any = None,
    scaler: torch.amp.GradScaler | None = None,
) -> None:
    """Restore the state of a checkpoint, random states last."""
    with _reading(checkpoint):
        _restore(checkpoint, objective, optimiser, average, scaler)


@contextlib.contextmanager
def _reading(checkpoint: Path) -> Iterator[None]:
    """Name the checkpoint that cannot be used: a damaged file makes libraries raise almost anything."""
    with explained(checkpoint, f"remove {checkpoint.parent} to train this stage from its start"):
        yield


def _restore(
    checkpoint: Path, objective: nn.Module, optimiser: torch.optim.Optimizer, average: Any, scaler: Any
) -> None:
    tensors = renamed_weights(load_file(checkpoint / "state.safetensors"))
    plain = read_json(checkpoint / "state.json")
    own = objective.state_dict()
    objective.load_state_dict(
        {name: shard_like(value, own.get(name, value)) for name, value in _under(tensors, "objective.").items()}
    )
    weights = [weight for settings in optimiser.param_groups for weight in settings["params"]]
    moments: dict[int, dict[str, Any]] = {}
    for name, value in _under(tensors, "optimiser.").items():
        index, key = name.split(".", 1)
        moments.setdefault(int(index), {})[key] = shard_like(value, weights[int(index)])
    for name, plain_value in plain["numbers"].items():
        index, key = name.split(".", 1)
        moments.setdefault(int(index), {})[key] = plain_value
    optimiser.load_state_dict({"state": moments, "param_groups": plain["groups"]})
    if average is not None:
        average.count = plain["average"]
        named = dict(objective.named_parameters())
        average.mean = {
            name: shard_like(value.to(named[name].device), named[name])
            for name, value in _under(tensors, "average.").items()
        }
    if scaler is not None and "scaler" in plain:
        scaler.load_state_dict(plain["scaler"])
    restore_random(tensors, plain)


def _plain_groups(moments: dict[str, Any]) -> list[dict[str, Any]]:
    """Settings of an optimiser's groups as numbers, without what only replayed steps need: a run may be resumed with
    replayed steps or without."""
    return [
        {
            name: value.item() if isinstance(value, Tensor) else value
            for name, value in settings.items()
            if name not in ("capturable", "fused")
        }
        for settings in moments["param_groups"]
    ]


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
