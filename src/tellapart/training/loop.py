"""The training loop: one stage of a recipe, whatever its task."""

from __future__ import annotations

import copy
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch
from torch import nn

from tellapart.core.distributed import barrier, from_main, group
from tellapart.data.sampling import draw_epoch
from tellapart.evaluation.format import in_percent
from tellapart.models.vision import vision_of
from tellapart.objectives.context import Context
from tellapart.objectives.recordable import Recordable
from tellapart.objectives.self_critical import RereadObjective
from tellapart.runs.own_processing import compile_parts
from tellapart.runs.recipe import Stage
from tellapart.training.averaging import WeightAverage
from tellapart.training.checkpoints import Position, restore_checkpoint
from tellapart.training.optimisers import build_optimiser, freeze
from tellapart.training.prefetch import prefetch, timed
from tellapart.training.random_state import draw_apart
from tellapart.training.replay import REPLAYABLE, Replay, make_replayable
from tellapart.training.runtime import StageRuntime
from tellapart.training.schedules import lr_factor
from tellapart.training.sharding import Sharded
from tellapart.training.step import Learner, check_finite, check_weights, precision, training_step
from tellapart.training.validation import is_lower_better, validate_epoch

LOG_EVERY = 20
"""Steps between values asked of a GPU, or of other processes: asking at every step would make them wait."""


def train_stage(
    stage: Stage,
    model: nn.Module,
    context: Context,
    runtime: StageRuntime,
    position: Position,
    checkpoint: Path | None = None,
) -> nn.Module:
    """Train one stage from `position`, after restoring `checkpoint` if given; returns the model to keep."""
    learner = _learner(stage, model, context, runtime, checkpoint)
    objective, average = learner.objective, learner.average
    while not _has_ended(stage, position):
        title = f"{stage.name} {position.epoch + 1}/{stage.epochs}"
        started = time.monotonic()
        means, waited = _train_epoch(stage, learner, context, runtime, position, title)
        spent = max(time.monotonic() - started, 1e-9)
        if average:
            average.end_epoch()
        metrics = validate_epoch(stage, position, objective, average, context, runtime)
        position.epoch, position.step, position.sums = position.epoch + 1, 0, {}
        if group().is_main:
            if runtime.log:
                row = {"stage": stage.name, "epoch": position.epoch - 1, "total": position.total}
                runtime.log.write(**row, **means, **metrics, lr=float(learner.optimiser.param_groups[0]["lr"]))
            shown = "  ".join(f"{name} {in_percent(name, value):.4g}" for name, value in metrics.items())
            runtime.progress.line(f"{title}  {shown}  ({spent:.1f} s, {waited / spent:.1%} waiting for data)")
        if _has_ended(stage, position) or _is_due(learner, runtime):
            _save(learner, position, runtime)
        barrier()
    runtime.progress.line(ending(stage, position))
    learner.replay = None  # it refers to the learner: its graphs would stay in memory until both are collected
    if runtime.save_objective:
        with runtime.whole():
            if group().is_main:
                runtime.save_objective(objective)
    if stage.keep == "best" and position.best is not None:
        kept = _plain_model(learner)
        runtime.load_best(kept)
    elif average is not None:
        with average.evaluated():
            kept = copy.deepcopy(_plain_model(learner))
    else:
        kept = _plain_model(learner)
    return kept


def _plain_model(learner: Learner) -> nn.Module:
    return learner.sharded.plain_model() if learner.sharded else learner.objective.get_submodule("model")


def _is_due(learner: Learner, runtime: StageRuntime, step: int = 0) -> bool:
    """Whether a checkpoint is due after this step, by the clock of the main process: all processes take part in
    writing it. Several processes ask only now and then, since asking makes them wait for each other."""
    if group().world > 1 and step % LOG_EVERY:
        return False
    return bool(from_main(time.monotonic() - learner.saved > runtime.save_every))


def ending(stage: Stage, position: Position) -> str:
    """A line that says whether a stage stopped early, which epoch was best, and which weights it keeps."""
    text = f"{stage.name}: "
    if position.epoch < stage.epochs:
        text += f"stopped early after epoch {position.epoch} of {stage.epochs}, "
        text += f"{position.stale} evaluations without a better {stage.monitor}; "
    if position.best is not None and position.best_epoch:
        best = -position.best if is_lower_better(stage.monitor) else position.best
        text += f"epoch {position.best_epoch} was best ({stage.monitor} {in_percent(stage.monitor, best):.4g}); "
    return f"{text}keeps the {stage.keep if position.best is not None else 'last'} epoch"


def _save(learner: Learner, position: Position, runtime: StageRuntime) -> None:
    if runtime.log:
        runtime.log.sync()
    learner.save(position, runtime.checkpoints)


def _has_ended(stage: Stage, position: Position) -> bool:
    return position.epoch >= stage.epochs or bool(stage.patience and position.stale >= stage.patience)


def _learner(
    stage: Stage, model: nn.Module, context: Context, runtime: StageRuntime, checkpoint: Path | None
) -> Learner:
    freeze(model, stage.frozen)
    objective: nn.Module = stage.objective.build(model, context).to(context.device)
    own = objective.state_dict()
    fitting = {k: v for k, v in runtime.objective_state.items() if k in own and own[k].shape == v.shape}
    objective.load_state_dict(fitting, strict=False)
    draw_apart()
    sharded = Sharded(objective, context.device) if runtime.shard else None
    runtime.whole = sharded.whole if sharded else nullcontext
    optimiser = build_optimiser(stage.optimiser, objective)
    average = WeightAverage(stage.average, objective) if stage.average else None
    scaler = torch.amp.GradScaler(context.device.type) if stage.precision == "float16" else None
    if checkpoint is not None:
        restore_checkpoint(checkpoint, objective, optimiser, average, scaler)
    vision = vision_of(model)
    if runtime.compile and vision is not None:
        vision.compile_network()
    elif runtime.compile:
        compile_parts(model)
    learner = Learner(objective, optimiser, average, scaler, sharded=sharded)
    if runtime.replay and _can_be_replayed(stage, objective, context):
        make_replayable(optimiser, context.device)
        learner.replay = Replay(lambda inputs: training_step(stage, learner, *inputs))
    return learner


def _can_be_replayed(stage: Stage, objective: nn.Module, context: Context) -> bool:
    plain = stage.accumulate == 1 and stage.precision != "float16" and stage.optimiser.kind in REPLAYABLE
    return plain and group().world == 1 and context.device.type == "cuda" and isinstance(objective, Recordable)


def _whole_to_sample(learner: Learner) -> AbstractContextManager[None]:
    """Whole weights for objectives that sample captions before each step."""
    samples = isinstance(learner.objective, RereadObjective)
    return learner.sharded.whole() if learner.sharded and samples else nullcontext()


def _train_epoch(
    stage: Stage, learner: Learner, context: Context, runtime: StageRuntime, position: Position, title: str
) -> tuple[dict[str, float], float]:
    """Train the rest of an epoch; returns the means of its values and the seconds spent waiting for data."""
    draws = draw_epoch(context.pack, stage.sampling, (runtime.seed, position.stage, position.epoch))
    steps, waited = len(draws), 0.0
    sums = {name: torch.tensor(value, dtype=torch.float64).to(context.device) for name, value in position.sums.items()}
    learner.wrapped.train()
    batches = timed(prefetch(context.batches, draws[position.step :]))
    for batch, wait in runtime.progress.track(batches, steps, title, position.step):
        waited += wait
        share = (position.epoch + position.step / steps) / stage.epochs
        learner.set_lr(stage.optimiser.lr, lr_factor(stage.schedule, position.epoch, position.updates, share))
        last = (position.step + 1) % stage.accumulate == 0 or position.step + 1 == steps
        prepared = None
        if isinstance(learner.objective, Recordable):
            with precision(stage, batch), _whole_to_sample(learner):
                prepared = learner.objective.prepare(batch)
        if learner.replay is not None:
            values = learner.replay((batch, prepared), learner.objective.phase())  # type: ignore[operator]
        else:
            values = training_step(stage, learner, batch, prepared, last)
        position.step, position.total = position.step + 1, position.total + 1
        position.updates += int(last)
        if learner.average and last:
            learner.average.after_step(position.step - 1, steps)
        for name, value in values.items():
            sums[name] = sums[name] + value if name in sums else value
        if position.step % LOG_EVERY == 0 or position.step == 1:
            numbers = check_finite({name: value.item() for name, value in values.items()}, stage)
            runtime.progress.values(**numbers)
            if runtime.log:
                runtime.log.write(stage=stage.name, epoch=position.epoch, total=position.total, **numbers)
        if last and position.step < steps and _is_due(learner, runtime, position.step):
            position.sums = {name: value.item() for name, value in sums.items()}
            check_weights(learner.objective, stage)
            _save(learner, position, runtime)
    means = check_finite({f"mean_{name}": total.item() / steps for name, total in sums.items()}, stage)
    check_weights(learner.objective, stage)
    return means, waited
