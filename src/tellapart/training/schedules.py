"""The learning rate as a function of where we are: no state, so nothing to save and nothing to restore wrongly."""

from __future__ import annotations

import math

from tellapart.runs.recipe import Schedule


def rate_factor(schedule: Schedule, epoch: int, epochs: int, step: int, progress: float) -> float:
    """What to multiply the learning rate with.

    epoch and step (optimiser steps of the stage) count from 0; progress in [0, 1) is the share of the stage done.

    >>> rate_factor(Schedule("step", every=15, factor=0.1), epoch=15, epochs=30, step=0, progress=0.5)
    0.1
    >>> round(rate_factor(Schedule("cosine"), epoch=0, epochs=1, step=0, progress=0.5), 3)
    0.5
    """
    if schedule.kind == "constant":
        factor = 1.0
    elif schedule.kind == "step":
        factor = schedule.factor ** (epoch // schedule.every)
    elif schedule.kind == "milestones":
        factor = schedule.factor ** sum(epoch >= milestone for milestone in schedule.at)
    elif schedule.kind == "cosine":
        factor = 0.5 * (1 + math.cos(math.pi * progress))
    elif schedule.kind == "cosine-rising":
        factor = 0.5 * (1 - math.cos(math.pi * progress))
    else:
        raise ValueError(
            f"Unknown schedule '{schedule.kind}'; use constant, step, milestones, cosine or cosine-rising."
        )
    if step < schedule.warmup_steps:
        factor *= (step + 1) / schedule.warmup_steps
    return factor
