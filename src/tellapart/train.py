"""`tellapart train RECIPE --data PACK --out RUN`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro

from tellapart.recipes import find_recipe
from tellapart.training.run import Run
from tellapart.training.train import TrainSettings, train_recipe


@dataclass(frozen=True)
class TrainOptions:
    """Train a recipe on a pack.

    Several processes: `torchrun --nproc-per-node 2 -m tellapart train RECIPE …`; each takes its share of every batch.
    """

    recipe: Annotated[str, tyro.conf.Positional]
    """Name of a recipe (`tellapart recipes` lists them), or a recipe.json."""
    settings: Annotated[TrainSettings, tyro.conf.arg(name="")]


def train(options: TrainOptions) -> Run:
    """Train and open the finished run."""
    return train_recipe(find_recipe(options.recipe), options.settings)
