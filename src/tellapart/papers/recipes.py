"""All recipes by name. Each paper has its own file; a recipe is a frozen value."""

from __future__ import annotations

from tellapart.core.errors import InputError, Step
from tellapart.core.files import read_json
from tellapart.core.suggestions import did_you_mean
from tellapart.papers.contrastive_captioning import recipes as contrastive_captioning
from tellapart.papers.convse import recipes as convse
from tellapart.papers.grounded_captioning import recipes as grounded_captioning
from tellapart.papers.ltd import recipes as ltd
from tellapart.papers.ours import (
    bundled_recipes,
    captioner_recipes,
    decoder_recipes,
    matcher_recipes,
    photo_recipes,
    pretrained,
    scan_recipes,
    strong_start_recipes,
)
from tellapart.papers.r2m import recipes as r2m
from tellapart.runs.bundled import run_folder
from tellapart.runs.on_pixels import SUFFIX, on_pixels
from tellapart.runs.recipe import Recipe
from tellapart.runs.registry import recipe_from_plain
from tellapart.runs.run import read_recipe

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
        photo_recipes,
        decoder_recipes,
        pretrained,
        strong_start_recipes,
    )
    for recipe in module.RECIPES
}


def find_recipe(name: str) -> Recipe:
    """The recipe of this name, or that of a run folder (`bundled:captioner` included) or of a recipe.json.

    NAME-pixels is the recipe NAME with a backbone that learns with its models.
    """
    if name in RECIPES:
        return RECIPES[name]
    if name.endswith(SUFFIX) and name.removesuffix(SUFFIX) in RECIPES:
        return on_pixels(RECIPES[name.removesuffix(SUFFIX)])
    folder = run_folder(name)
    if (folder / "recipe.json").is_file():
        return read_recipe(folder)
    if folder.is_file() and folder.suffix == ".json":
        return recipe_from_plain(read_json(folder))
    raise InputError(f"Unknown recipe '{name}'.{did_you_mean(name, RECIPES)}", Step("recipes"))
