"""What a recipe is: frozen values, nothing that runs. MLE then CL, XE then SCST: all are tuples of stages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tellapart.core.fields import renamed
from tellapart.data.sampling import LATER, Sampling


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
    """constant, step (times `factor` every `every` epochs), milestones (times `factor` at each of `at`), cosine (down
    to zero over the stage), or cosine-rising (from zero up: what LTD's released code does in its second phase)."""
    every: int = 1
    factor: float = 0.1
    at: tuple[int, ...] = ()
    warmup_steps: int = 0
    """Linear from zero over the stage's first steps, before the rest."""


@dataclass(frozen=True)
class Average:
    kind: str = "epoch"
    """epoch: the mean of `snapshots` taken after `start` of each epoch takes the weights' place (SWA as LTD has it).
    ema: a moving mean with `decay`, evaluated and kept in the weights' stead."""
    start: float = 0.9
    snapshots: int = 5
    decay: float = 0.999


@dataclass(frozen=True)
class Stage:
    name: str
    objective: Any
    """A value of one of the classes in `tellapart.objectives.OBJECTIVES`."""
    model: Any = None
    """A value of one of the classes in MATCHERS or CAPTIONERS; None goes on with the model of `start`."""
    start: str = "fresh"
    """Where weights come from: fresh, previous (the stage before), an earlier stage's name, or a run folder. With
    `model` given too, the new model takes every weight whose name and shape it shares."""
    epochs: int = 30
    sampling: Sampling = field(default_factory=Sampling)
    optimiser: Optimiser = field(default_factory=Optimiser)
    schedule: Schedule = field(default_factory=Schedule)
    clip_norm: float = 0.0
    """Gradients longer than this are shortened to it; 0: off."""
    clip_value: float = 0.0
    """Gradient elements are clamped to plus or minus this; 0: off."""
    precision: str = "float32"
    """float32, bfloat16, or float16 (with loss scaling, on a GPU)."""
    accumulate: int = 1
    """Batches whose gradients are added up before a step."""
    average: Average | None = None
    frozen: tuple[str, ...] = ()
    """Prefixes of parameter names that do not learn in this stage."""
    evaluation: str = "loss"
    """What judges an epoch: a name in `tellapart.evaluation.EVALUATIONS`, or loss (the objective's own)."""
    also_judged_by: tuple[str, ...] = field(default=(), metadata=LATER)
    """With evaluation=loss: earlier stages whose validation losses are added to this one's, so that an epoch is good
    when it learns something new without unlearning what they taught. The sum is `loss`, its parts `loss_STAGE`."""
    validation_split: str = "val"
    monitor: str = "loss"
    """The figure that chooses the best epoch; `loss`, median ranks and CHAIR are best low, all others high."""
    evaluate_every: int = 1
    """Epochs between evaluations; the last epoch is always evaluated."""
    patience: int = 0
    """Stop after so many evaluations without a new best; 0: never."""
    keep: str = "best"
    """Which weights the stage hands on: best or last."""
    keep_objective: bool = False
    """Stages that start from this one also go on with what the objective itself has learned (decoders, multipliers), as
    it stands after the last epoch. Wants keep=last, so that both are of one moment."""


DESCRIPTION = ("name", "paper", "about", "expected")
"""Fields of a recipe that change nothing of what is learned."""


@dataclass(frozen=True)
class Recipe:
    name: str
    paper: str
    """Short name of the paper and the row or section this is."""
    about: str
    """One line for `tellapart recipes`."""
    stages: tuple[Stage, ...]
    features: str = "vector"
    """Kind of features it reads: vector, grid, regions, or none."""
    seed: int = 0
    expected: str = ""
    """Figures to expect and the command and data they were measured with."""
