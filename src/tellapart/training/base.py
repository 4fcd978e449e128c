"""Taking over the finished first stages of another run, so that recipes that begin alike train their beginning once."""

from __future__ import annotations

import shutil
from pathlib import Path

from tellapart.data.files import read_json
from tellapart.errors import InputError
from tellapart.training.recipe import Recipe
from tellapart.training.registry import to_plain


def take_over(base: Path, recipe: Recipe, out: Path) -> None:
    """Copy the base run's stages and log into `out`. Stages that it left out are trained like any other.

    Each stage starts from its own seed, so what follows is what a whole run would have given.
    """
    if not (base / "model.safetensors").is_file():
        raise InputError(f"{base} is no finished run, so its stages cannot be taken over; finish it with --resume.")
    theirs, ours = read_json(base / "recipe.json"), to_plain(recipe)
    count = len(theirs["stages"])
    if theirs["stages"] != ours["stages"][:count] or theirs["seed"] != ours["seed"] or count >= len(ours["stages"]):
        raise InputError(
            f"{base} does not begin like '{recipe.name}' (seed {recipe.seed}): leave --base out, or name a run of its "
            "first stages with the same seed."
        )
    (out / "stages").mkdir(parents=True, exist_ok=True)
    for stage in theirs["stages"]:
        for path in (base / "stages").glob(f"{stage['name']}*.safetensors"):
            shutil.copyfile(path, out / "stages" / path.name)
    shutil.copyfile(base / "log.jsonl", out / "log.jsonl")
