"""How good an epoch was: an evaluation on validation, the best so far, and how long ago that was."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from tellapart.core.distributed import from_main, group, single_process
from tellapart.core.errors import InputError
from tellapart.data.sampling import draw_epoch
from tellapart.evaluation import EVALUATIONS
from tellapart.objectives.context import Context
from tellapart.runs.recipe import Recipe, Stage
from tellapart.training.averaging import WeightAverage
from tellapart.training.checkpoints import Position
from tellapart.training.feed import made

BEST_LOW = ("loss", "chair_words", "chair_captions")
"""Figures of which less is better, beside median ranks."""


@dataclass(frozen=True)
class EarlierLoss:
    """What an earlier stage would say of the model that a later one trains."""

    stage: Stage
    context: Context
    objective: nn.Module


def judges(recipe: Recipe, index: int) -> list[Stage]:
    """The stages before this one that also judge it."""
    return [stage for stage in recipe.stages[:index] if stage.name in recipe.stages[index].also_judged_by]


def earlier_losses(
    earlier: Sequence[tuple[Stage, Context]], model: nn.Module, device: torch.device
) -> list[EarlierLoss]:
    """The objectives of earlier stages over the model that is trained now, made before that model moves."""
    losses = [
        EarlierLoss(stage, context, stage.objective.build(model, context).to(device)) for stage, context in earlier
    ]
    own = {id(parameter) for parameter in model.parameters()}
    for loss in losses:
        if any(id(parameter) not in own for parameter in loss.objective.parameters()):
            raise InputError(
                f"The objective of stage '{loss.stage.name}' has weights beside its model's (a decoder, a frozen "
                "reference) that later stages lack: its loss cannot judge them. Leave it out of also_judged_by."
            )
    return losses


def judge(
    stage: Stage,
    position: Position,
    objective: nn.Module,
    average: WeightAverage | None,
    context: Context,
    save_best: Callable[[nn.Module], None],
    earlier: Sequence[EarlierLoss] = (),
) -> dict[str, float]:
    """Evaluate on validation where it is due; remember the best and how long ago it was."""
    if (position.epoch + 1) % stage.evaluate_every and position.epoch + 1 < stage.epochs:
        return {}
    judged: dict[str, float] = {}
    if group().is_main:
        with average.evaluated() if average else torch.no_grad(), torch.no_grad(), single_process():
            kept = objective.eval().get_submodule("model")
            if stage.evaluation == "loss":
                judged = validation_losses(objective, context, stage, earlier)
            else:
                judged = EVALUATIONS[stage.evaluation](kept, context, stage.validation_split)
            check_monitor(stage, judged)
            value = judged[stage.monitor] * (-1 if is_best_low(stage.monitor) else 1)
            if position.best is None or value > position.best:
                position.best, position.stale = value, 0
                save_best(kept)
            else:
                position.stale += 1
    judged, position.best, position.stale = from_main((judged, position.best, position.stale))
    return judged


def is_best_low(figure: str) -> bool:
    return figure in BEST_LOW or figure.endswith("_median")


def check_monitor(stage: Stage, figures: Collection[str]) -> None:
    if stage.monitor not in figures:
        raise InputError(f"'{stage.monitor}' is not among the evaluation's figures: {', '.join(figures)}.")


def validation_losses(
    objective: nn.Module, context: Context, stage: Stage, earlier: Sequence[EarlierLoss]
) -> dict[str, float]:
    """The objective's figures; its loss is added up with those of earlier stages where there are any."""
    figures = validation_loss(objective, context, stage)
    if not earlier:
        return figures
    losses = {stage.name: figures["loss"]}
    for other in earlier:
        losses[other.stage.name] = validation_loss(other.objective.eval(), other.context, other.stage)["loss"]
    return figures | {"loss": sum(losses.values())} | {f"loss_{name}": loss for name, loss in losses.items()}


def validation_loss(objective: nn.Module, context: Context, stage: Stage) -> dict[str, float]:
    """The objective's own figures, averaged over the validation split in a fixed order."""
    plain = replace(stage.sampling, cut=1.0, flip=False)
    sampling = replace(plain, split=stage.validation_split, drop_last=False, steps=None)
    sums: dict[str, float] = {}
    draws = draw_epoch(context.pack, sampling, (0, 0, 0))
    for draw in draws:
        for name, value in objective(made(context.batches, draw)).items():
            if value.numel() == 1:
                sums[name] = sums.get(name, 0.0) + float(value) / len(draws)
    return sums
