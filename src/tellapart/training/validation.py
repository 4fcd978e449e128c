"""How good an epoch is: an evaluation on the validation split, the best epoch so far, and how long ago it was."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

import torch
from torch import nn

from tellapart.core.distributed import from_main, group, single_process
from tellapart.core.errors import InputError
from tellapart.data.sampling import draw_epoch
from tellapart.evaluation import EVALUATIONS
from tellapart.models.layers.pixel_backbone import seen_once
from tellapart.models.vision import batch_as_seen
from tellapart.objectives.context import Context
from tellapart.runs.recipe import Recipe, Stage
from tellapart.training.averaging import WeightAverage
from tellapart.training.checkpoints import Position
from tellapart.training.prefetch import make_batch
from tellapart.training.runtime import EarlierLoss, StageRuntime

LOWER_IS_BETTER = ("loss", "chair_words", "chair_captions")
"""Metrics of which less is better, besides median ranks."""


def validating_stages(recipe: Recipe, index: int) -> list[Stage]:
    """The earlier stages whose losses also validate this one."""
    return [stage for stage in recipe.stages[:index] if stage.name in recipe.stages[index].also_validated_by]


def earlier_losses(
    earlier: Sequence[tuple[Stage, Context]], model: nn.Module, device: torch.device
) -> list[EarlierLoss]:
    """The objectives of earlier stages over the model that is trained now, built before that model changes."""
    losses = [
        EarlierLoss(stage, context, stage.objective.build(model, context).to(device)) for stage, context in earlier
    ]
    own = {id(parameter) for parameter in model.parameters()}
    for loss in losses:
        if any(id(parameter) not in own for parameter in loss.objective.parameters()):
            raise InputError(
                f"The objective of stage '{loss.stage.name}' has weights besides its model's (a decoder, a frozen "
                "reference) that later stages do not have, so its loss cannot validate them. Remove it from "
                "also_validated_by."
            )
    return losses


def validate_epoch(
    stage: Stage,
    position: Position,
    objective: nn.Module,
    average: WeightAverage | None,
    context: Context,
    runtime: StageRuntime,
) -> dict[str, float]:
    """Metrics on the validation split, or none in an epoch without evaluation; updates the best epoch in `position`."""
    if (position.epoch + 1) % stage.evaluate_every and position.epoch + 1 < stage.epochs:
        return {}
    metrics: dict[str, float] = {}
    with average.evaluated() if average else torch.no_grad(), torch.no_grad(), runtime.whole():
        if group().is_main:
            with single_process():
                metrics = _evaluated(stage, position, objective, context, runtime)
    known = (metrics, position.best, position.best_epoch, position.stale)
    metrics, position.best, position.best_epoch, position.stale = from_main(known)
    return metrics


def _evaluated(
    stage: Stage, position: Position, objective: nn.Module, context: Context, runtime: StageRuntime
) -> dict[str, float]:
    model = objective.eval().get_submodule("model")
    if stage.evaluation == "loss":
        metrics = validation_losses(objective, context, stage, runtime.earlier)
    else:
        metrics = EVALUATIONS[stage.evaluation](model, context, stage.validation_split)
    check_monitor(stage, metrics)
    value = metrics[stage.monitor] * (-1 if is_lower_better(stage.monitor) else 1)
    if is_better(value, position.best):
        position.best, position.best_epoch, position.stale = value, position.epoch + 1, 0
        runtime.save_best(model)
    else:
        position.stale += 1
    return metrics


def is_better(value: float, best: float | None) -> bool:
    """Whether a value is the best so far. NaN never is, and anything else is better than NaN."""
    return not math.isnan(value) and (best is None or math.isnan(best) or value > best)


def is_lower_better(metric: str) -> bool:
    """Whether less of a metric is better."""
    return metric in LOWER_IS_BETTER or metric.endswith("_median")


def check_monitor(stage: Stage, metrics: Collection[str]) -> None:
    """Raise if the evaluation does not compute the metric that selects the best epoch."""
    if stage.monitor not in metrics:
        raise InputError(f"'{stage.monitor}' is not among the evaluation's metrics: {', '.join(metrics)}.")


def validation_losses(
    objective: nn.Module, context: Context, stage: Stage, earlier: Sequence[EarlierLoss]
) -> dict[str, float]:
    """The objective's values; the losses of earlier stages, if any, are added to its loss."""
    values = validation_loss(objective, context, stage)
    if not earlier:
        return values
    losses = {stage.name: values["loss"]}
    for other in earlier:
        losses[other.stage.name] = validation_loss(other.objective.eval(), other.context, other.stage)["loss"]
    return values | {"loss": sum(losses.values())} | {f"loss_{name}": loss for name, loss in losses.items()}


def validation_loss(objective: nn.Module, context: Context, stage: Stage) -> dict[str, float]:
    """The objective's values, averaged over the validation split in a fixed order."""
    plain = replace(stage.sampling, cut=1.0, flip=False)
    sampling = replace(plain, split=stage.validation_split, drop_last=False, steps=None)
    sums: dict[str, float] = {}
    draws = draw_epoch(context.pack, sampling, (0, 0, 0))
    for draw in draws:
        with seen_once():
            values = objective(batch_as_seen(getattr(objective, "model", None), make_batch(context.batches, draw)))
        for name, value in values.items():
            if value.numel() == 1:
                sums[name] = sums.get(name, 0.0) + float(value) / len(draws)
    return sums
