"""Recipes with their models shrunk to a few numbers, so that any of them trains in a moment."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.data.pack import Pack
from tellapart.papers.recipes import find_recipe
from tellapart.papers.rows import table_row
from tellapart.reproduce.table import Row, Table
from tellapart.runs.recipe import Recipe
from tiny_pack import make_tiny_pack

WIDTH = 16
WIDE = 64
"""Whole numbers from here on are widths."""


def small_pack(folder: Path) -> Pack:
    """The tiny pack with sentence targets as wide as the shrunk models expect them."""
    pack = make_tiny_pack(folder)
    random = np.random.default_rng(1)
    pack.save_column("targets-minilm", random.standard_normal((len(pack.owner), WIDTH)).astype(np.float16), "caption")
    return pack


def shrunk(value: Any) -> Any:
    """A model's or objective's settings with every width at 16 and nothing pretrained."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(value):
        held = getattr(value, field.name)
        if field.name in ("word_vectors", "bert"):
            changes[field.name] = ""
        elif field.name == "text" and held == "minilm":
            changes[field.name] = "gru"
        elif field.name == "start" and held == "minilm":
            changes[field.name] = ""
        elif field.name == "most_words":
            continue  # a number of positions, not a width
        elif field.name == "heads" and held >= WIDE:
            changes[field.name] = 2 * WIDTH  # a hidden width, which must be twice the embedding to hold the identity
        elif field.name == "heads" and held and WIDTH % held:
            changes[field.name] = 4
        elif field.name == "value_width":
            changes[field.name] = WIDTH // value.heads  # the heads of a memory fill a slot
        elif (isinstance(held, int) and not isinstance(held, bool) and held >= WIDE) or field.name == "word_width":
            changes[field.name] = WIDTH
        elif dataclasses.is_dataclass(held):
            changes[field.name] = shrunk(held)
    return dataclasses.replace(value, **changes)


def small_recipe(name: str) -> Recipe:
    """The recipe of this name, shrunk."""
    return shrunk_recipe(find_recipe(name))


def shrunk_recipe(recipe: Recipe) -> Recipe:
    """A recipe of the same stages over shrunk models; parts that are not there to be scaled or frozen are left out."""
    stages = tuple(
        dataclasses.replace(
            stage,
            model=shrunk(stage.model),
            objective=shrunk(stage.objective),
            sampling=dataclasses.replace(stage.sampling, batch=min(stage.sampling.batch, WIDTH)),
            optimiser=dataclasses.replace(stage.optimiser, scaled=()),
        )
        for stage in recipe.stages
    )
    return dataclasses.replace(recipe, stages=stages)


def small_row(name: str, recipe: str, overrides: tuple[str, ...] = ()) -> Row:
    """A row of a table with the shrunk recipe of this name."""
    row = table_row(name, recipe, overrides)
    return dataclasses.replace(row, recipe=shrunk_recipe(row.recipe))


def small_table(table: Table) -> Table:
    """The table with shrunk recipes."""
    rows = (dataclasses.replace(row, recipe=shrunk_recipe(row.recipe)) for row in table.rows)
    return dataclasses.replace(table, rows=tuple(rows))
