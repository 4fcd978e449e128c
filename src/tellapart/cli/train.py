"""`tellapart train RECIPE --data PACK --out RUN`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro

from tellapart.core.errors import InputError
from tellapart.papers.recipes import RECIPES, find_recipe
from tellapart.runs.bundled import run_folder
from tellapart.runs.run import Run, forget_run
from tellapart.training.train import TrainSettings, train_recipe


@dataclass(frozen=True)
class TrainOptions:
    """Train a recipe on a pack.

    Several processes: `torchrun --nproc-per-node 2 -m tellapart train RECIPE …`; each takes its share of every batch.
    """

    recipe: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RECIPE")]
    """Name of a recipe (`tellapart recipes` lists them), a recipe.json, or a run whose recipe is used again."""
    settings: Annotated[TrainSettings, tyro.conf.arg(name="")]


def train(options: TrainOptions) -> Run:
    """Train and open the finished run."""
    name = options.recipe
    if name not in RECIPES and (run_folder(name) / "recipe.json").is_file():
        name = str(run_folder(name) / "recipe.json")
    recipe, out = find_recipe(name), options.settings.out
    begun = (out / "recipe.json").is_file()
    try:
        return train_recipe(recipe, options.settings)
    except InputError:
        if not begun:
            # The call is about to be mended and made again: nothing of it should stand in the way.
            forget_run(out)
        raise
