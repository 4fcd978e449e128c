"""Rows of tables, with the recipe that a name stands for."""

from __future__ import annotations

from collections.abc import Mapping

from tellapart.papers.recipes import find_recipe
from tellapart.reproduce.caption_measures import UNTRAINED
from tellapart.reproduce.table import Row
from tellapart.runs.recipe import Recipe


def table_row(
    name: str,
    recipe: str,
    overrides: tuple[str, ...] = (),
    published: Mapping[str, tuple[float | None, ...]] | None = None,
) -> Row:
    """A row that trains the recipe of this name, or that needs no training (a name in `UNTRAINED`)."""
    found = Recipe(recipe, "", "", stages=(), features="none") if recipe in UNTRAINED else find_recipe(recipe)
    return Row(name, found, overrides, published or {})
