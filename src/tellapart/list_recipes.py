"""`tellapart recipes`: what can be trained, from which paper, with which command, and what to expect."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

import tyro

from tellapart.recipes import RECIPES, find_recipe
from tellapart.training.registry import to_plain


@dataclass(frozen=True)
class RecipesOptions:
    """List the recipes, or show one in full."""

    recipe: Annotated[str, tyro.conf.Positional] = ""
    """A recipe to show with every field; left out, all are listed."""
    json: bool = False
    """Print JSON."""


def recipes(options: RecipesOptions) -> None:
    chosen = [find_recipe(options.recipe)] if options.recipe else list(RECIPES.values())
    if options.json or options.recipe:
        plain = [to_plain(recipe) for recipe in chosen]
        print(json.dumps(plain[0] if options.recipe else plain, indent=2))
        return
    from rich.console import Console

    console = Console()
    for recipe in chosen:
        console.print(f"[bold]{recipe.name}[/bold]  ({recipe.paper}; {recipe.features} features)", highlight=False)
        console.print(f"    {recipe.about}", highlight=False)
        console.print(f"    tellapart train {recipe.name} --data PACK --out RUN", highlight=False)
        if recipe.expected:
            console.print(f"    expected: {recipe.expected}", highlight=False)
