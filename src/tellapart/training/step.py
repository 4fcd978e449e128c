"""One training step: forward, backward, update."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from tellapart.core.distributed import group, mean_over_ranks
from tellapart.core.errors import InputError
from tellapart.core.recording import recording
from tellapart.core.types import Batch
from tellapart.models.layers.pixel_backbone import seen_once
from tellapart.models.vision import batch_as_seen
from tellapart.runs.recipe import Stage
from tellapart.training.averaging import WeightAverage
from tellapart.training.checkpoints import Position, save_checkpoint
from tellapart.training.replay import Replay
from tellapart.training.sharded_tensors import own_part
from tellapart.training.sharding import Sharded


@dataclass
class Learner:
    """What learns, with all of its state that a checkpoint must hold."""

    objective: nn.Module
    optimiser: torch.optim.Optimizer
    average: WeightAverage | None
    scaler: torch.amp.GradScaler | None
    saved: float = field(default_factory=time.monotonic)
    """When the last checkpoint was written."""
    replay: Replay | None = None
    """Set where steps are recorded and replayed."""
    sharded: Sharded | None = None
    """Set where the objective's weights are sharded across processes."""

    def __post_init__(self) -> None:
        self.wrapped: nn.Module = self.objective
        if self.sharded is not None:
            self.wrapped = self.sharded
        elif group().world > 1:
            self.wrapped = DistributedDataParallel(self.objective, find_unused_parameters=True)

    @property
    def model(self) -> nn.Module | None:
        """The model that the objective trains."""
        return getattr(self.objective, "model", None)

    def save(self, position: Position, folder: Path) -> None:
        """Write a checkpoint."""
        save_checkpoint(folder, position, self.objective, self.optimiser, self.average, self.scaler)
        self.saved = time.monotonic()

    def set_lr(self, lr: float, factor: float) -> None:
        """Set the learning rate of each parameter group: `lr` times the group's scale times the schedule's factor."""
        for settings in self.optimiser.param_groups:
            current = lr * settings["scale"] * factor
            if isinstance(settings["lr"], Tensor):
                settings["lr"].fill_(current)
            else:
                settings["lr"] = current


def training_step(stage: Stage, learner: Learner, batch: Batch, prepared: Any, last: bool = True) -> dict[str, Tensor]:
    """Forward, backward and, after the last of the accumulated batches, an update; returns the values to log."""
    optimiser, scaler = learner.optimiser, learner.scaler
    with precision(stage, batch), seen_once():
        batch = batch if learner.sharded else batch_as_seen(learner.model, batch)
        values: dict[str, Tensor] = learner.wrapped(batch) if prepared is None else learner.wrapped(batch, prepared)
    loss = values["loss"] / stage.accumulate
    (scaler.scale(loss) if scaler else loss).backward()  # type: ignore[no-untyped-call]
    if last:
        parameters = [p for settings in optimiser.param_groups for p in settings["params"]]
        if scaler:
            scaler.unscale_(optimiser)
        if stage.clip_norm:
            nn.utils.clip_grad_norm_(parameters, stage.clip_norm)
        if stage.clip_value:
            nn.utils.clip_grad_value_(parameters, stage.clip_value)
        if scaler:
            scaler.step(optimiser)
            scaler.update()
        else:
            optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    return mean_over_ranks({name: value.detach().double() for name, value in values.items() if value.numel() == 1})


def precision(stage: Stage, batch: Batch) -> torch.autocast:
    """The autocast context of a stage's precision."""
    kind, mixed = batch.owner.device.type, stage.precision != "float32"
    return torch.autocast(kind, getattr(torch, stage.precision), enabled=mixed, cache_enabled=not recording())


def check_weights(objective: nn.Module, stage: Stage) -> None:
    """Raise if a weight is not a finite number, so that no checkpoint of such weights replaces a good one."""
    for name, weights in objective.named_parameters():
        if not bool(torch.isfinite(own_part(weights)).all()):
            raise InputError(
                f"The weights {name} of stage '{stage.name}' are not finite numbers any more. Lower the learning rate, "
                "set clip_norm, or use float32. The last checkpoint is from before."
            )


def check_finite(values: dict[str, float], stage: Stage) -> dict[str, float]:
    """The values themselves; raises if the loss among them is not a finite number."""
    loss = values.get("loss", values.get("mean_loss", 0.0))
    if not math.isfinite(loss):
        raise InputError(
            f"The loss of stage '{stage.name}' is {loss}. Lower the learning rate, set clip_norm, or use float32."
        )
    return values
