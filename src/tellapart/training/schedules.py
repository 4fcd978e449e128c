"""The learning rate as a function of the position in a stage: no state to save or restore."""

from __future__ import annotations

import math

from tellapart.core.errors import InputError
from tellapart.runs.recipe import Schedule


def lr_factor(schedule: Schedule, epoch: int, step: int, share: float) -> float:
    """The factor of the learning rate.

    epoch and step (optimiser steps of the stage) count from 0; share in [0, 1) is how much of the stage is done.

    >>> lr_factor(Schedule("step", every=15, factor=0.1), epoch=15, step=0, share=0.5)
    0.1
    >>> round(lr_factor(Schedule("cosine"), epoch=0, step=0, share=0.5), 3)
    0.5
    """
    if schedule.kind == "constant":
        factor = 1.0
    elif schedule.kind == "step":
        factor = schedule.factor ** (epoch // schedule.every)
    elif schedule.kind == "milestones":
        factor = schedule.factor ** sum(epoch >= milestone for milestone in schedule.at)
    elif schedule.kind == "cosine":
        factor = 0.5 * (1 + math.cos(math.pi * share))
    elif schedule.kind == "cosine-rising":
        factor = 0.5 * (1 - math.cos(math.pi * share))
    else:
        raise InputError(
            f"Unknown schedule '{schedule.kind}'; use constant, step, milestones, cosine or cosine-rising."
        )
    if step < schedule.warmup_steps:
        factor *= (step + 1) / schedule.warmup_steps
    return factor
