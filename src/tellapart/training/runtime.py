"""What a stage works with while it trains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor, nn

from tellapart.core.progress import Progress
from tellapart.objectives.context import Context
from tellapart.runs.recipe import Stage
from tellapart.training.log import Log


@dataclass(frozen=True)
class EarlierLoss:
    """The objective of an earlier stage, applied to the model that a later stage trains."""

    stage: Stage
    context: Context
    objective: nn.Module


@dataclass
class StageRuntime:
    """Everything that a stage needs besides its recipe, model and data: seed, files, log and progress."""

    seed: int
    checkpoints: Path
    """Folder for checkpoints."""
    log: Log | None
    """None in processes other than the main one."""
    progress: Progress
    save_best: Callable[[nn.Module], None]
    """Stores the best model so far."""
    load_best: Callable[[nn.Module], None]
    """Reads the best model back."""
    save_every: float = 120.0
    """Seconds between checkpoints; the end of a stage always writes one."""
    replay: bool = False
    """Record steps as CUDA graphs and replay them, where the objective allows it."""
    compile: bool = False
    """Compile the backbone that learns, or a model of transformers."""
    shard: bool = False
    """Shard weights across processes."""
    whole: Callable[[], AbstractContextManager[None]] = nullcontext
    """A block in which the objective has whole weights on every process; all processes enter it together."""
    objective_state: dict[str, Tensor] = field(default_factory=dict)
    """State of an earlier stage's objective that this stage's objective starts from."""
    save_objective: Callable[[nn.Module], None] | None = None
    """Stores the objective's state when the stage ends; None where no later stage uses it."""
    earlier: Sequence[EarlierLoss] = ()
    """Of the stages named in `also_validated_by`."""
