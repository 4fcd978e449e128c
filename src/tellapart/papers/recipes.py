"""All recipes by name. One file a paper; a recipe is a frozen value."""

from __future__ import annotations

from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.core.files import read_json
from tellapart.papers.contrastive_captioning import recipes as contrastive_captioning
from tellapart.papers.convse import recipes as convse
from tellapart.papers.grounded_captioning import recipes as grounded_captioning
from tellapart.papers.ltd import recipes as ltd
from tellapart.papers.ours import bundled as photos
from tellapart.papers.ours import captioners as tell_averaged
from tellapart.papers.ours import matchers as find_best
from tellapart.papers.ours import scan
from tellapart.papers.r2m import recipes as r2m
from tellapart.runs.recipe import Recipe
from tellapart.runs.registry import recipe_from_plain

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
