"""Finished first stages copied from another run, so that recipes with the same first stages train them once."""

from __future__ import annotations

import shutil
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_path, make_folder
from tellapart.runs.recipe import Recipe
from tellapart.runs.registry import to_plain
from tellapart.runs.run import read_recipe, stage_path
from tellapart.training.objective_state import objective_path


def check_base(base: Path, recipe: Recipe) -> None:
    """Raise if a run is not finished or its stages are not the first stages of the recipe."""
    if not (base / "model.safetensors").is_file():
        raise InputError(f"`base`: {base} is not a finished run, so its stages cannot be copied. Resume it first.")
    if not (base / "stages").is_dir():
        raise InputError(f"`base`: {base} is a slim copy without its stages, so they cannot be copied.")
    theirs, ours = to_plain(read_recipe(base)), to_plain(recipe)
    count = len(theirs["stages"])
    if theirs["stages"] != ours["stages"][:count] or theirs["seed"] != ours["seed"] or count >= len(ours["stages"]):
        raise InputError(
            f"`base`: the stages of {base} are not the first stages of '{recipe.name}' with seed {recipe.seed}. Choose "
            "a run of its first stages with the same seed, or none."
        )


def copy_stages(base: Path, recipe: Recipe, out: Path) -> None:
    """Copy the stages of a base run into `out`, and its log last, which marks the copy as complete. Stages that the
    base does not have are trained.

    Each stage has its own seed, so later stages give the same result as in a run that trained them all.
    """
    if (out / "log.jsonl").is_file():
        return
    make_folder(out / "stages")
    for stage in recipe.stages:
        for path_of in (objective_path, stage_path):
            if stage_path(base, stage.name).is_file() and path_of(base, stage.name).is_file():
                _copy(path_of(base, stage.name), path_of(out, stage.name))
    _copy(base / "log.jsonl", out / "log.jsonl")


def _copy(path: Path, to: Path) -> None:
    with atomic_path(to) as partial:
        shutil.copyfile(path, partial)
