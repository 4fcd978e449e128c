"""All recipes by name. Each paper has its own file; a recipe is a frozen value."""

from __future__ import annotations

from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.core.files import read_json
from tellapart.papers.contrastive_captioning import recipes as contrastive_captioning
from tellapart.papers.convse import recipes as convse
from tellapart.papers.grounded_captioning import recipes as grounded_captioning
from tellapart.papers.ltd import recipes as ltd
from tellapart.papers.ours import bundled_recipes, captioner_recipes, matcher_recipes, scan_recipes
from tellapart.papers.r2m import recipes as r2m
from tellapart.runs.recipe import Recipe
from tellapart.runs.registry import recipe_from_plain

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for module in (
        convse,
        ltd,
        scan_recipes,
        matcher_recipes,
        contrastive_captioning,
        captioner_recipes,
        grounded_captioning,
        r2m,
        bundled_recipes,
    )
    for recipe in module.RECIPES
}


def find_recipe(name: str) -> Recipe:
    """The recipe of this name, or the one in this recipe.json (a run folder has one)."""
    if name in RECIPES:
        return RECIPES[name]
    path = Path(name)
    if path.is_file() and path.suffix == ".json":
        return recipe_from_plain(read_json(path))
    raise InputError(f"Unknown recipe '{name}'. Known recipes: {', '.join(RECIPES)}.")
