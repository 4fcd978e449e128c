"""The recipe that a row of a table trains, whole or shortened."""

from __future__ import annotations

from dataclasses import replace

from tellapart.data.pack import Pack
from tellapart.data.sampling import steps_per_epoch
from tellapart.reproduce.cache import recipe_hash
from tellapart.reproduce.table import Row
from tellapart.runs.on_pixels import resolved
from tellapart.runs.overrides import override
from tellapart.runs.recipe import Recipe, Stage


def row_recipe(row: Row, seed: int = 0, share: float = 1.0, pack: Pack | None = None) -> Recipe:
    """The recipe of a row with its overrides. `pack` is needed only where it is shortened below one epoch."""
    return shortened(resolved(override(row.recipe, (*row.overrides, f"seed={seed}"))), share, pack)


def row_hash(row: Row) -> str:
    """Hash of the recipe of a row, the same for every seed and every share of its epochs."""
    return recipe_hash(row_recipe(row))


def shortened(recipe: Recipe, share: float, pack: Pack | None) -> Recipe:
    """All stages cut to the same share of their epochs, with their schedules; below one epoch, to that share of it."""
    if share >= 1:
        return recipe
    return replace(recipe, stages=tuple(_shorter(stage, share, pack) for stage in recipe.stages))


def _shorter(stage: Stage, share: float, pack: Pack | None) -> Stage:
    sampling, epochs = stage.sampling, stage.epochs * share
    if epochs < 1 and pack is not None:
        sampling = replace(sampling, steps=max(1, round(epochs * steps_per_epoch(pack, sampling))))
    schedule = replace(
        stage.schedule,
        every=max(1, round(stage.schedule.every * share)),
        at=tuple(max(1, round(epoch * share)) for epoch in stage.schedule.at),
        # At least one: a shortened row with a warm-up must not become the row without it.
        warmup_steps=min(stage.schedule.warmup_steps, max(1, round(stage.schedule.warmup_steps * share))),
    )
    return replace(stage, epochs=max(1, round(epochs)), sampling=sampling, schedule=schedule)
