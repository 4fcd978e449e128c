"""`tellapart train RECIPE --data PACK --out RUN`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro

from tellapart.core.distributed import group
from tellapart.core.progress import Progress
from tellapart.core.protocols import Captioner, Matcher
from tellapart.data.open_packs import open_pack
from tellapart.papers.recipes import find_recipe
from tellapart.runs.overrides import override
from tellapart.runs.recipe import Recipe
from tellapart.runs.run import Run, read_recipe
from tellapart.training.few_images import EPOCHS, for_few_images
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
    all_epochs: bool = False
    """Train all epochs of the recipe. Default: at most 10 per stage where the pack has fewer than 1,000 training
    images."""
    quiet: bool = False
    """Show no progress."""


def train(options: TrainOptions) -> Run:
    """Train and return the finished run; prints what was trained, where it is and what to do next."""
    progress = Progress(enabled=not options.quiet)
    recipe = _for_this_pack(find_recipe(options.recipe), options, progress)
    run = train_recipe(recipe, options.settings, progress)
    if group().is_main:
        progress.line(next_steps(run, options.settings))
    return run


def _for_this_pack(recipe: Recipe, options: TrainOptions, progress: Progress) -> Recipe:
    """The recipe, shortened for few images unless all epochs are asked for or the run was begun with them."""
    settings = options.settings
    images = len(open_pack(settings.data).split("train").images)
    short = recipe if options.all_epochs else for_few_images(recipe, images)
    if settings.resume and (settings.out / "recipe.json").is_file():
        begun = [stage.epochs for stage in read_recipe(settings.out, objectives=False).stages]
        wanted = [stage.epochs for stage in override(recipe, settings.set).stages]
        short = recipe if begun == wanted else short
    named = {setting.split("=")[0] for setting in settings.set}
    changed = [
        f"{full.name}.epochs={full.epochs}"
        for full, other in zip(recipe.stages, short.stages)
        if full != other and f"{full.name}.epochs" not in named
    ]
    if changed and group().is_main:
        progress.line(
            f"{images} training images are few: at most {EPOCHS} epochs per stage. For all epochs of the recipe, add "
            f"--all-epochs; for other numbers, --set {' '.join(changed)}."
        )
    return short


def next_steps(run: Run, settings: TrainSettings) -> str:
    """Where a run is saved, and the commands that use it."""
    folder = settings.out
    steps = [f"tellapart evaluate {folder} --data {settings.data}"]
    if isinstance(run.model, Captioner):
        steps.append(f"tellapart caption PHOTO… --captioner {folder}")
    elif isinstance(run.model, Matcher):
        steps.append(f"tellapart index FOLDER --out INDEX --matcher {folder}")
    return f"Saved in {folder}. Next:\n" + "\n".join(f"  {step}" for step in steps)
