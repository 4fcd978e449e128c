"""Taking over the finished first stages of another run, so that recipes that begin alike train their beginning once."""

from __future__ import annotations

import shutil
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_path, read_json
from tellapart.runs.recipe import Recipe
from tellapart.runs.registry import recipe_from_plain, to_plain
from tellapart.runs.run import stage_path
from tellapart.training.carried import objective_path


def check_base(base: Path, recipe: Recipe) -> None:
    """Refuses a run that is not whole or does not begin like the recipe."""
    if not (base / "model.safetensors").is_file():
        raise InputError(f"{base} is no finished run, so its stages cannot be taken over; finish it with --resume.")
    if not (base / "stages").is_dir():
        raise InputError(f"{base} was handed out without its stages, so they cannot be taken over; leave --base out.")
    theirs, ours = to_plain(recipe_from_plain(read_json(base / "recipe.json"))), to_plain(recipe)
    count = len(theirs["stages"])
    if theirs["stages"] != ours["stages"][:count] or theirs["seed"] != ours["seed"] or count >= len(ours["stages"]):
        raise InputError(
            f"{base} does not begin like '{recipe.name}' (seed {recipe.seed}): leave --base out, or name a run of its "
            "first stages with the same seed."
        )


def take_over(base: Path, recipe: Recipe, out: Path) -> None:
    """Copy the base run's stages into `out`, and its log last, which says that all of it is there. Stages that it left
    out are trained like any other.

    Each stage starts from its own seed, so what follows is what a whole run would have given.
    """
    if (out / "log.jsonl").is_file():
        return
    (out / "stages").mkdir(parents=True, exist_ok=True)
    for stage in recipe.stages:
        for path_of in (objective_path, stage_path):
            if stage_path(base, stage.name).is_file() and path_of(base, stage.name).is_file():
                _copy(path_of(base, stage.name), path_of(out, stage.name))
    _copy(base / "log.jsonl", out / "log.jsonl")


def _copy(path: Path, to: Path) -> None:
    with atomic_path(to) as partial:
        shutil.copyfile(path, partial)
