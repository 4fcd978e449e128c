"""`tellapart train RECIPE --data PACK --out RUN`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro

from tellapart.core.progress import Progress
from tellapart.papers.recipes import find_recipe
from tellapart.runs.run import Run
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe


@dataclass(frozen=True)
class TrainOptions:
    """Train a recipe on a pack.

    Several processes: `torchrun --nproc-per-node 2 -m tellapart train RECIPE …`; each takes its share of every batch.
    """

    recipe: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RECIPE")]
    """Name of a recipe (`tellapart recipes` lists them), a recipe.json, or a run whose recipe is used again."""
    settings: Annotated[TrainSettings, tyro.conf.arg(name="")]
    quiet: bool = False
    """Show no progress."""


def train(options: TrainOptions) -> Run:
    """Train and return the finished run."""
    return train_recipe(find_recipe(options.recipe), options.settings, Progress(enabled=not options.quiet))
