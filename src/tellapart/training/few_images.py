"""Fewer epochs for few images: a recipe of a paper expects thousands, and on a few hundred it only takes long."""

from __future__ import annotations

from dataclasses import replace

from tellapart.runs.recipe import Recipe, Stage

FEW = 1000
"""Training images; recipes are as published from here on."""
EPOCHS, PATIENCE = 10, 3


def for_few_images(recipe: Recipe, images: int) -> Recipe:
    """The recipe with at most 10 epochs per stage that stop after 3 evaluations without a better one, for few images.

    Stages whose epochs are a number of steps stay as they are.
    """
    return recipe if not 0 < images < FEW else replace(recipe, stages=tuple(_shorter(stage) for stage in recipe.stages))


def _shorter(stage: Stage) -> Stage:
    if stage.sampling.steps is not None or stage.epochs <= EPOCHS:
        return stage
    return replace(stage, epochs=EPOCHS, patience=min(stage.patience or PATIENCE, PATIENCE))
