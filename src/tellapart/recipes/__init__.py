"""All recipes by name. One file a paper; a recipe is a frozen value."""

from __future__ import annotations

from pathlib import Path

from tellapart.data.files import read_json
from tellapart.errors import InputError
from tellapart.recipes import (
    contrastive_captioning,
    convse,
    find_best,
    grounded_captioning,
    ltd,
    photos,
    r2m,
    scan,
    tell_averaged,
)
from tellapart.training.recipe import Recipe
from tellapart.training.registry import recipe_from_plain

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for paper in (convse, ltd, scan, find_best, contrastive_captioning, tell_averaged, grounded_captioning, r2m, photos)
    for recipe in paper.RECIPES
}


def find_recipe(name: str) -> Recipe:
    """A recipe by name, or from a recipe.json (a run folder's own, say)."""
    if name in RECIPES:
        return RECIPES[name]
    path = Path(name)
    if path.is_file() and path.suffix == ".json":
        return recipe_from_plain(read_json(path))
    raise InputError(f"There is no recipe '{name}'; `tellapart recipes` lists them: {', '.join(RECIPES)}.")
