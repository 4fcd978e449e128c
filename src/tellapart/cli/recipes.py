"""`tellapart recipes [RECIPE]`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

import tyro

from tellapart.papers.recipes import RECIPES, find_recipe
from tellapart.runs.recipe import Recipe
from tellapart.runs.registry import to_plain


@dataclass(frozen=True)
class RecipesOptions:
    """List the recipes with paper, command and expected metrics, or show one."""

    recipe: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RECIPE")] = ""
    """A recipe to show with every field. Default: list all."""
    json: bool = False
    """Print JSON."""
    markdown: bool = False
    """Print a Markdown page (docs/recipes.md)."""


def recipes(options: RecipesOptions) -> None:
    """Print the recipes, or one of them."""
    chosen = [find_recipe(options.recipe)] if options.recipe else list(RECIPES.values())
    if options.json or options.recipe:
        plain = [to_plain(recipe) for recipe in chosen]
        print(json.dumps(plain[0] if options.recipe else plain, indent=2))
    elif options.markdown:
        print(_page(chosen))
    else:
        _print_list(chosen)


def _print_list(chosen: list[Recipe]) -> None:
    from rich.console import Console

    console = Console()
    for recipe in chosen:
        console.print(f"[bold]{recipe.name}[/bold]  ({recipe.paper}; {recipe.features} features)", highlight=False)
        console.print(f"    {recipe.about}", highlight=False)
        console.print(f"    tellapart train {recipe.name} --data PACK --out RUN", highlight=False)
        if recipe.expected:
            console.print(f"    expected: {recipe.expected}", highlight=False)


def _page(chosen: list[Recipe]) -> str:
    """All recipes as a Markdown table."""
    head = (
        "# Recipes\n\nWritten by `make pages`. Train one with `tellapart train NAME --data PACK --out RUN`. "
        "`tellapart recipes NAME` shows every field, and `--set STAGE.FIELD=VALUE` changes it. "
        "NAME-pixels trains the backbone of a matcher or captioner too ([train end to end](end-to-end.md)).\n\n"
        "| name | paper | features | stages | about | expected |\n|---|---|---|---|---|---|"
    )
    rows = [
        f"| `{recipe.name}` | {recipe.paper} | {recipe.features} | {' → '.join(stage.name for stage in recipe.stages)} "
        f"| {recipe.about} | {recipe.expected} |"
        for recipe in chosen
    ]
    return "\n".join([head, *rows])
