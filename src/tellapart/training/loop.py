"""The training loop: one stage of a recipe, whatever its task. Everything it does is on this page."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from tellapart.data.batches import Batches, made_ahead
from tellapart.data.sampling import Draw, draw_epoch, share_of_rank
from tellapart.distributed import agree, barrier, group
from tellapart.errors import InputError
from tellapart.evaluation import EVALUATIONS
from tellapart.objectives.context import Context
from tellapart.training.averaging import WeightAverage
from tellapart.training.checkpoints import Position, restore_checkpoint, save_checkpoint
from tellapart.training.log import Log
from tellapart.training.optimisers import build_optimiser, freeze
from tellapart.training.progress import Progress
from tellapart.training.recipe import Stage
from tellapart.training.schedules import rate_factor
from tellapart.types import Batch


@dataclass
class Desk:
    """What a stage works with besides its data: where to write, how often, and how to tell."""

    checkpoints: Path
    log: Log | None
    progress: Progress
    save_best: Callable[[nn.Module], None]
    load_best: Callable[[nn.Module], None]
    save_every: float = 120.0
    """Seconds between checkpoints; the stage's end always has one."""
    carried: dict[str, Tensor] = field(default_factory=dict)
    """State of an earlier stage's objective to go on with."""
    save_objective: Callable[[nn.Module], None] | None = None


def train_stage(
    stage: Stage,
    model: nn.Module,
    context: Context,
    desk: Desk,
    seed: int,
    position: Position,
    checkpoint: Path | None = None,
) -> nn.Module:
    """Train one stage from `position`, restoring `checkpoint` first if there is one; returns the model to keep."""
    freeze(model, stage.frozen)
    objective: nn.Module = stage.objective.build(model, context).to(context.device)
    own = objective.state_dict()
    fitting = {k: v for k, v in desk.carried.items() if k in own and own[k].shape == v.shape}
    objective.load_state_dict(fitting, strict=False)
    optimiser = build_optimiser(stage.optimiser, objective)
    average = WeightAverage(stage.average, objective) if stage.average else None
    scaler = torch.amp.GradScaler(context.device.type) if stage.precision == "float16" else None
    if checkpoint is not None:
        restore_checkpoint(checkpoint, objective, optimiser, average, scaler)
    kept = objective.get_submodule("model")
    wrapped: nn.Module = (
        DistributedDataParallel(objective, find_unused_parameters=True) if group().world > 1 else objective  # type: ignore[assignment]
    )
    saved = time.monotonic()
    while position.epoch < stage.epochs and not (stage.patience and position.stale >= stage.patience):
        draws = draw_epoch(context.pack, stage.sampling, (seed, position.stage, position.epoch))
        steps, waited, started = len(draws), 0.0, time.monotonic()
        sums = {
            name: torch.tensor(value, dtype=torch.float64, device=context.device)
            for name, value in position.sums.items()
        }
        wrapped.train()
        batches = timed(prefetched(context.batches, draws[position.step :]))
        title = f"{stage.name} {position.epoch + 1}/{stage.epochs}"
        for batch, wait in desk.progress.over(batches, steps, title, position.step):
            waited += wait
            progress = (position.epoch + position.step / steps) / stage.epochs
            factor = rate_factor(stage.schedule, position.epoch, stage.epochs, position.updates, progress)
            for settings in optimiser.param_groups:
                settings["lr"] = stage.optimiser.rate * settings["scale"] * factor
            last = (position.step + 1) % stage.accumulate == 0 or position.step + 1 == steps
            figures = _learn(stage, wrapped, batch, optimiser, scaler, last)
            position.step, position.total = position.step + 1, position.total + 1
            position.updates += int(last)
            if average and last:
                average.after_step(position.step - 1, steps)
            for name, value in figures.items():
                sums[name] = sums[name] + value if name in sums else value
            if position.step % 20 == 0 or position.step == 1:
                # Only here do we ask a GPU for numbers: asking at every step would make it wait for us.
                numbers = _finite({name: value.item() for name, value in figures.items()}, stage)
                desk.progress.say(**numbers)
                if desk.log:
                    desk.log.write(stage=stage.name, epoch=position.epoch, total=position.total, **numbers)
            if last and position.step < steps and time.monotonic() - saved > desk.save_every and group().is_main:
                position.sums = {name: value.item() for name, value in sums.items()}
                save_checkpoint(desk.checkpoints, position, objective, optimiser, average, scaler)
                saved = time.monotonic()
        spent = max(time.monotonic() - started, 1e-9)
        if average:
            average.end_epoch()
        judged = _judge(stage, position, objective, average, context, desk)
        position.epoch, position.step, position.sums = position.epoch + 1, 0, {}
        if group().is_main:
            if desk.log:
                means = _finite({f"mean_{name}": total.item() / steps for name, total in sums.items()}, stage)
                row = {"stage": stage.name, "epoch": position.epoch - 1, "total": position.total}
                desk.log.write(**row, **means, **judged, rate=optimiser.param_groups[0]["lr"])
            shown = "  ".join(f"{k} {v:.4g}" for k, v in judged.items())
            desk.progress.line(f"{title}  {shown}  ({spent:.1f} s, {waited / spent:.1%} waiting for data)")
            if time.monotonic() - saved > desk.save_every or position.epoch == stage.epochs:
                save_checkpoint(desk.checkpoints, position, objective, optimiser, average, scaler)
                saved = time.monotonic()
        barrier()
    if desk.save_objective and group().is_main:
        desk.save_objective(objective)
    if stage.keep == "best" and position.best is not None:
        desk.load_best(kept)
    elif average is not None:
        with average.evaluated():
            kept = copy.deepcopy(kept)
    return kept


def _learn(
    stage: Stage,
    objective: nn.Module,
    batch: Batch,
    optimiser: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler | None,
    last: bool,
) -> dict[str, Tensor]:
    """Forward, backward and, when the last of the accumulated batches is in, an update; gives the figures to log."""
    mixed = stage.precision != "float32"
    with torch.autocast(batch.owner.device.type, getattr(torch, stage.precision), enabled=mixed):
        figures: dict[str, Tensor] = objective(batch)
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


def _finite(figures: dict[str, float], stage: Stage) -> dict[str, float]:
    loss = figures.get("loss", figures.get("mean_loss", 0.0))
    if not math.isfinite(loss):
        raise InputError(
            f"The loss of stage '{stage.name}' is {loss}. Lower the learning rate, set clip_norm, or use float32."
        )
    return figures


def _judge(
    stage: Stage,
    position: Position,
    objective: nn.Module,
    average: WeightAverage | None,
    context: Context,
    desk: Desk,
) -> dict[str, float]:
    """Evaluate on validation where it is due; remember the best and how long ago it was."""
    if (position.epoch + 1) % stage.evaluate_every and position.epoch + 1 < stage.epochs:
        return {}
    judged: dict[str, float] = {}
    if group().is_main:
        with average.evaluated() if average else torch.no_grad(), torch.no_grad():
            kept = objective.eval().get_submodule("model")
            if stage.evaluation == "loss":
                judged = validation_loss(objective, context, stage)
            else:
                judged = EVALUATIONS[stage.evaluation](kept, context, stage.validation_split)
            if stage.monitor not in judged:
                raise InputError(f"'{stage.monitor}' is not among the evaluation's figures: {', '.join(judged)}.")
            value = judged[stage.monitor] * (-1 if stage.monitor == "loss" else 1)
            if position.best is None or value > position.best:
                position.best, position.stale = value, 0
                desk.save_best(kept)
            else:
                position.stale += 1
    judged, position.best, position.stale = agree((judged, position.best, position.stale))
    return judged


def validation_loss(objective: nn.Module, context: Context, stage: Stage) -> dict[str, float]:
    """The objective's own figures, averaged over the validation split in a fixed order."""
    sampling = replace(stage.sampling, split=stage.validation_split, drop_last=False, steps=None)
    sums: dict[str, float] = {}
    draws = draw_epoch(context.pack, sampling, (0, 0, 0))
    for draw in draws:
        for name, value in objective(made(context.batches, draw)).items():
            if value.numel() == 1:
                sums[name] = sums.get(name, 0.0) + float(value) / len(draws)
    return sums


def prefetched(batches: Batches, draws: list[Draw]) -> Iterator[Batch]:
    """Our rank's share of each drawn batch, made in the background."""
    us, owner = group(), batches.pack.owner
    return made_ahead([partial(made, batches, share_of_rank(draw, owner, us.rank, us.world)) for draw in draws])


def made(batches: Batches, draw: Draw) -> Batch:
    return (
        batches.batch(draw.captions)
        if draw.pictures is None
        else batches.pictures_and_captions(draw.pictures, draw.captions)
    )


def timed(items: Iterator[Any]) -> Iterator[tuple[Any, float]]:
    """Each item with the seconds it kept us waiting."""
    while True:
        before = time.monotonic()
        try:
            item = next(items)
        except StopIteration:
            return
        yield item, time.monotonic() - before
