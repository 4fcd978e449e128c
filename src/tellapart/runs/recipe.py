"""What a recipe is: frozen values, no code. MLE then CL, XE then SCST: each is a tuple of stages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tellapart.core.fields import renamed
from tellapart.data.sampling import LATER, Sampling
from tellapart.models.layers.lora import Lora
from tellapart.models.vision import Vision


@dataclass(frozen=True)
class Optimiser:
    kind: str = "adam"
    """adam, adamw, adamp or sgd."""
    lr: float = field(default=2e-4, metadata=renamed("rate"))
    """Learning rate before the schedule."""
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    momentum: float = 0.0
    """For sgd."""
    scaled: tuple[tuple[str, float], ...] = ()
    """(prefix of parameter names, factor): these parameters learn at `lr` times factor."""


@dataclass(frozen=True)
class Schedule:
    kind: str = "constant"
    """constant, step (times `factor` every `every` epochs), milestones (times `factor` at each epoch in `at`), cosine
    (down to zero over the stage), or cosine-rising (up from zero, as LTD's released code in its second phase)."""
    every: int = 1
    factor: float = 0.1
    at: tuple[int, ...] = ()
    warmup_steps: int = 0
    """Steps of linear increase from zero at the start of the stage."""


@dataclass(frozen=True)
class Average:
    kind: str = "epoch"
    """epoch: the mean of `snapshots`, taken after `start` of each epoch, replaces the weights (SWA as in LTD).
    ema: a moving mean with `decay` is evaluated and kept instead of the weights."""
    start: float = 0.9
    snapshots: int = 5
    decay: float = 0.999


@dataclass(frozen=True)
class Stage:
    name: str
    objective: Any
    """A value of one of the classes in `tellapart.objectives.OBJECTIVES`."""
    model: Any = None
    """A value of one of the classes in MATCHERS or CAPTIONERS; None continues with the model of `start`."""
    start: str = "fresh"
    """Where weights come from: fresh, previous (the stage before), the name of an earlier stage, or a run folder. If
    `model` is given too, the new model takes every weight whose name and shape fit."""
    epochs: int = 30
    sampling: Sampling = field(default_factory=Sampling)
    optimiser: Optimiser = field(default_factory=Optimiser)
    schedule: Schedule = field(default_factory=Schedule)
    clip_norm: float = 0.0
    """Largest norm of the gradient; 0: no limit."""
    clip_value: float = 0.0
    """Largest absolute value of a gradient element; 0: no limit."""
    precision: str = "float32"
    """float32, bfloat16, or float16 (with loss scaling, on a GPU)."""
    accumulate: int = 1
    """Batches whose gradients are summed before a step."""
    average: Average | None = None
    frozen: tuple[str, ...] = ()
    """Prefixes of parameter names that do not learn in this stage."""
    evaluation: str = "loss"
    """How an epoch is validated: a name in `tellapart.evaluation.EVALUATIONS`, or loss (the objective's own)."""
    also_validated_by: tuple[str, ...] = field(default=(), metadata={**LATER, **renamed("also_judged_by")})
    """With evaluation=loss: earlier stages whose validation losses are added to this one's, so that the best epoch
    learns something new without forgetting what they taught. The sum is `loss`, its parts `loss_STAGE`."""
    validation_split: str = "val"
    monitor: str = "loss"
    """The metric that selects the best epoch. Less is better for `loss`, median ranks and CHAIR, more for all
    others."""
    evaluate_every: int = 1
    """Epochs between evaluations; the last epoch is always evaluated."""
    patience: int = 0
    """Stop after this many evaluations without a new best epoch; 0: never."""
    keep: str = "best"
    """Which weights the stage ends with: best or last."""
    keep_objective: bool = False
    """Stages that start from this one also take over what the objective has learned (decoders, multipliers) by the last
    epoch. Use keep=last with it, so that model and objective belong together."""
    vision: Vision | None = field(default=None, metadata=LATER)
    """A backbone that learns with the model, which then reads pixels; None: features on disk. Stages that continue with
    a model see as it does."""
    lora: Lora | None = field(default=None, metadata=LATER)
    """Low-rank adapters that learn in place of the model; they are added to its weights when the stage ends, and stored
    in RUN/adapters too. None: the whole model learns."""


DESCRIPTION = ("name", "paper", "about", "expected")
"""Fields of a recipe that do not change what is learned."""


@dataclass(frozen=True)
class Recipe:
    name: str
    paper: str
    """Short name of the paper, and the row or section that the recipe reproduces."""
    about: str
    """One line for `tellapart recipes`."""
    stages: tuple[Stage, ...]
    features: str = "vector"
    """Kind of the features that it reads: vector, grid, regions, or none."""
    seed: int = 0
    expected: str = ""
    """Metrics to expect, with the data they were measured on."""
