"""The training loop: one stage of a recipe, whatever its task."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from tellapart.core.distributed import barrier, group
from tellapart.core.errors import InputError
from tellapart.core.progress import Progress
from tellapart.core.recording import recording
from tellapart.core.types import Batch
from tellapart.data.sampling import draw_epoch
from tellapart.objectives.context import Context
from tellapart.objectives.recordable import Recordable
from tellapart.runs.recipe import Stage
from tellapart.training.averaging import WeightAverage
from tellapart.training.checkpoints import Position, restore_checkpoint, save_checkpoint
from tellapart.training.feed import prefetched, timed
from tellapart.training.judging import EarlierLoss, judge
from tellapart.training.log import Log
from tellapart.training.optimisers import build_optimiser, freeze
from tellapart.training.replay import REPLAYABLE, Replay, make_replayable
from tellapart.training.schedules import rate_factor


@dataclass
class StageRuntime:
    """What a stage works with besides its data: where to write, how often, and how to tell."""

    checkpoints: Path
    log: Log | None
    progress: Progress
    save_best: Callable[[nn.Module], None]
    load_best: Callable[[nn.Module], None]
    save_every: float = 120.0
    """Seconds between checkpoints; the stage's end always has one."""
    replay: bool = False
    """Record steps as CUDA graphs and replay them, where the objective allows it."""
    carried: dict[str, Tensor] = field(default_factory=dict)
    """State of an earlier stage's objective to go on with."""
    save_objective: Callable[[nn.Module], None] | None = None
    earlier: Sequence[EarlierLoss] = ()
    """Of the stages named in `also_judged_by`."""


@dataclass
class Learner:
    """What learns, and all of its state that a checkpoint must hold."""

    objective: nn.Module
    optimiser: torch.optim.Optimizer
    average: WeightAverage | None
    scaler: torch.amp.GradScaler | None
    saved: float = field(default_factory=time.monotonic)
    """When the last checkpoint was written."""
    replay: Replay | None = None
    """Set where steps are recorded and replayed."""

    def __post_init__(self) -> None:
        several = group().world > 1
        self.wrapped: nn.Module = (
            DistributedDataParallel(self.objective, find_unused_parameters=True) if several else self.objective  # type: ignore[assignment]
        )

    def save(self, position: Position, folder: Path) -> None:
        save_checkpoint(folder, position, self.objective, self.optimiser, self.average, self.scaler)
        self.saved = time.monotonic()


def train_stage(
    stage: Stage,
    model: nn.Module,
    context: Context,
    runtime: StageRuntime,
    seed: int,
    position: Position,
    checkpoint: Path | None = None,
) -> nn.Module:
    """Train one stage from `position`, restoring `checkpoint` first if there is one; returns the model to keep."""
    learner = _learner(stage, model, context, runtime, checkpoint)
    objective, average = learner.objective, learner.average
    while not _has_ended(stage, position):
        title = f"{stage.name} {position.epoch + 1}/{stage.epochs}"
        started = time.monotonic()
        means, waited = _epoch(stage, learner, context, runtime, seed, position, title)
        spent = max(time.monotonic() - started, 1e-9)
        if average:
            average.end_epoch()
        judged = judge(stage, position, objective, average, context, runtime.save_best, runtime.earlier)
        position.epoch, position.step, position.sums = position.epoch + 1, 0, {}
        if group().is_main:
            if runtime.log:
                row = {"stage": stage.name, "epoch": position.epoch - 1, "total": position.total}
                runtime.log.write(**row, **means, **judged, lr=float(learner.optimiser.param_groups[0]["lr"]))
            shown = "  ".join(f"{name} {value:.4g}" for name, value in judged.items())
            runtime.progress.line(f"{title}  {shown}  ({spent:.1f} s, {waited / spent:.1%} waiting for data)")
            if time.monotonic() - learner.saved > runtime.save_every or _has_ended(stage, position):
                learner.save(position, runtime.checkpoints)
        barrier()
    learner.replay = None  # it knows the learner: without this its graphs would stay in memory until both are found
    if runtime.save_objective and group().is_main:
        runtime.save_objective(objective)
    kept = objective.get_submodule("model")
    if stage.keep == "best" and position.best is not None:
        runtime.load_best(kept)
    elif average is not None:
        with average.evaluated():
            kept = copy.deepcopy(kept)
    return kept


def _has_ended(stage: Stage, position: Position) -> bool:
    return position.epoch >= stage.epochs or bool(stage.patience and position.stale >= stage.patience)


def _learner(
    stage: Stage, model: nn.Module, context: Context, runtime: StageRuntime, checkpoint: Path | None
) -> Learner:
    freeze(model, stage.frozen)
    objective: nn.Module = stage.objective.build(model, context).to(context.device)
    own = objective.state_dict()
    fitting = {k: v for k, v in runtime.carried.items() if k in own and own[k].shape == v.shape}
    objective.load_state_dict(fitting, strict=False)
    optimiser = build_optimiser(stage.optimiser, objective)
    average = WeightAverage(stage.average, objective) if stage.average else None
    scaler = torch.amp.GradScaler(context.device.type) if stage.precision == "float16" else None
    if checkpoint is not None:
        restore_checkpoint(checkpoint, objective, optimiser, average, scaler)
    learner = Learner(objective, optimiser, average, scaler)
    if runtime.replay and _can_be_replayed(stage, objective, context):
        make_replayable(optimiser, context.device)
        learner.replay = Replay(lambda inputs: _learn(stage, learner, *inputs))
    return learner


def _can_be_replayed(stage: Stage, objective: nn.Module, context: Context) -> bool:
    plain = stage.accumulate == 1 and stage.precision != "float16" and stage.optimiser.kind in REPLAYABLE
    return plain and group().world == 1 and context.device.type == "cuda" and isinstance(objective, Recordable)


def _set_lr(settings: dict[str, Any], lr: float) -> None:
    if isinstance(settings["lr"], Tensor):
        settings["lr"].fill_(lr)
    else:
        settings["lr"] = lr


def _epoch(
    stage: Stage, learner: Learner, context: Context, runtime: StageRuntime, seed: int, position: Position, title: str
) -> tuple[dict[str, float], float]:
    """What is left of an epoch; gives the means of its figures and the seconds spent waiting for data."""
    draws = draw_epoch(context.pack, stage.sampling, (seed, position.stage, position.epoch))
    steps, waited = len(draws), 0.0
    sums = {name: torch.tensor(value, dtype=torch.float64).to(context.device) for name, value in position.sums.items()}
    learner.wrapped.train()
    batches = timed(prefetched(context.batches, draws[position.step :]))
    for batch, wait in runtime.progress.track(batches, steps, title, position.step):
        waited += wait
        progress = (position.epoch + position.step / steps) / stage.epochs
        factor = rate_factor(stage.schedule, position.epoch, stage.epochs, position.updates, progress)
        for settings in learner.optimiser.param_groups:
            _set_lr(settings, stage.optimiser.lr * settings["scale"] * factor)
        last = (position.step + 1) % stage.accumulate == 0 or position.step + 1 == steps
        prepared = None
        if isinstance(learner.objective, Recordable):
            with _precision(stage, batch):
                prepared = learner.objective.prepare(batch)
        if learner.replay is not None:
            figures = learner.replay((batch, prepared), learner.objective.phase())  # type: ignore[operator]
        else:
            figures = _learn(stage, learner, batch, prepared, last)
        position.step, position.total = position.step + 1, position.total + 1
        position.updates += int(last)
        if learner.average and last:
            learner.average.after_step(position.step - 1, steps)
        for name, value in figures.items():
            sums[name] = sums[name] + value if name in sums else value
        if position.step % 20 == 0 or position.step == 1:
            # Only here do we ask a GPU for numbers: asking at every step would make it wait for us.
            numbers = _finite({name: value.item() for name, value in figures.items()}, stage)
            runtime.progress.values(**numbers)
            if runtime.log:
                runtime.log.write(stage=stage.name, epoch=position.epoch, total=position.total, **numbers)
        due = last and position.step < steps and time.monotonic() - learner.saved > runtime.save_every
        if due and group().is_main:
            position.sums = {name: value.item() for name, value in sums.items()}
            learner.save(position, runtime.checkpoints)
    return _finite({f"mean_{name}": total.item() / steps for name, total in sums.items()}, stage), waited


def _learn(stage: Stage, learner: Learner, batch: Batch, prepared: Any, last: bool = True) -> dict[str, Tensor]:
    """Forward, backward and, when the last of the accumulated batches is in, an update; gives the figures to log."""
    optimiser, scaler = learner.optimiser, learner.scaler
    with _precision(stage, batch):
        figures: dict[str, Tensor] = learner.wrapped(batch) if prepared is None else learner.wrapped(batch, prepared)
    loss = figures["loss"] / stage.accumulate
    (scaler.scale(loss) if scaler else loss).backward()
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
    return {name: value.detach().double() for name, value in figures.items() if value.numel() == 1}


def _precision(stage: Stage, batch: Batch) -> torch.autocast:
    kind, mixed = batch.owner.device.type, stage.precision != "float32"
    return torch.autocast(kind, getattr(torch, stage.precision), enabled=mixed, cache_enabled=not recording())


def _finite(figures: dict[str, float], stage: Stage) -> dict[str, float]:
    loss = figures.get("loss", figures.get("mean_loss", 0.0))
    if not math.isfinite(loss):
        raise InputError(
            f"The loss of stage '{stage.name}' is {loss}. Lower the learning rate, set clip_norm, or use float32."
        )
    return figures
