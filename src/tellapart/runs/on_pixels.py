"""Recipes whose backbone learns too: any matcher or captioner recipe, trained end to end on pixels.

`on_pixels(recipe)` is the recipe with a backbone in its models; `--set STAGE.vision.FIELD=VALUE` changes it, or gives
one to any recipe. `resolved` then spells out what that means for batches and learning rates.
"""

from __future__ import annotations

from dataclasses import replace

from tellapart.core.errors import InputError
from tellapart.data.feature_choice import NO_FEATURES
from tellapart.features.backbones import load_backbone
from tellapart.features.efficientnet import LITE_SIZES
from tellapart.models.vision import Vision
from tellapart.runs.recipe import Recipe, Stage

SUFFIX = "-pixels"
"""Of the names of recipes trained end to end."""
PREFIX = "vision"
"""Of the names of a backbone's weights in its model."""


def on_pixels(recipe: Recipe, vision: Vision | None = None) -> Recipe:
    """The recipe with a backbone that learns with its models, in place of features on disk."""
    if recipe.features == NO_FEATURES:
        raise InputError(f"The recipe '{recipe.name}' reads no features, so no backbone can take their place.")
    chosen = _of_kind(vision or Vision(), recipe.features)
    stages = (
        _without_regions(stage if stage.model is None else replace(stage, vision=chosen)) for stage in recipe.stages
    )
    return replace(
        recipe,
        name=recipe.name + SUFFIX,
        about=f"{recipe.about} The backbone learns too.",
        stages=tuple(stages),
        features=NO_FEATURES,
        expected="",
    )


def _without_regions(stage: Stage) -> Stage:
    """Grounding is measured over stored regions; without them the captions themselves validate a stage."""
    return replace(stage, evaluation="captions") if stage.evaluation == "grounding" else stage


def resolved(recipe: Recipe) -> Recipe:
    """The recipe with every consequence of its `vision` in its stages; a recipe without any is returned as it is.

    Batches have crops of squashed images, the backbone learns at its own learning rate, and a stage that continues with
    the model of another sees as that one does.
    """
    first = next((stage.vision for stage in recipe.stages if stage.vision is not None), None)
    if first is None:
        return recipe
    stages: list[Stage] = []
    for stage in recipe.stages:
        own = stage.vision or (first if stage.model is not None else _earlier(stage, stages) or first)
        stages.append(_resolved(stage, _sized(_of_kind(own, recipe.features))))
    return replace(recipe, stages=tuple(stages), features=NO_FEATURES)


def _of_kind(vision: Vision, features: str) -> Vision:
    kind = features if features in ("vector", "grid") else "grid"
    return vision if vision.features else replace(vision, features=kind)


def _sized(vision: Vision) -> Vision:
    if vision.pixels:
        return vision
    known = LITE_SIZES.get(vision.backbone)
    size = known.pixels if known else load_backbone(vision.backbone, pretrained=False).preprocessing.size
    return replace(vision, pixels=size)


def _earlier(stage: Stage, before: list[Stage]) -> Vision | None:
    """The vision of the stage whose model this one continues with."""
    if stage.start == "previous" and before:
        return before[-1].vision
    return next((other.vision for other in before if other.name == stage.start), None)


def _resolved(stage: Stage, vision: Vision) -> Stage:
    vision.check()
    sampling, optimiser, frozen = stage.sampling, stage.optimiser, stage.frozen
    if sampling.what != "texts":
        sampling = replace(
            sampling, pixels=vision.pixels, cut=vision.least_area, flip=vision.flip, squash=True, swap=vision.flip
        )
    scaled = tuple(part for part in optimiser.scaled if part[0] != PREFIX)
    if vision.lr_factor == 0:
        frozen = (*(prefix for prefix in frozen if prefix != PREFIX), PREFIX)
    elif PREFIX not in frozen:
        scaled = ((PREFIX, vision.lr_factor), *scaled)
    return replace(stage, vision=vision, sampling=sampling, optimiser=replace(optimiser, scaled=scaled), frozen=frozen)
