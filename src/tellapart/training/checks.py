"""Checks of a recipe before anything is written: an invalid value is an error at once, not after an epoch."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from tellapart.core.errors import InputError, Step
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.data.sampling import Sampling, rows_to_draw
from tellapart.data.squares import Squares
from tellapart.evaluation import EVALUATIONS
from tellapart.runs.recipe import Recipe, Stage
from tellapart.training.validation import validating_stages

OPTIMISERS = ("adam", "adamw", "adamp", "sgd")
SCHEDULES = ("constant", "step", "milestones", "cosine", "cosine-rising")
PRECISIONS = ("float32", "bfloat16", "float16")
AVERAGES = ("epoch", "ema")


def check_recipe(recipe: Recipe, pack: Pack) -> None:
    """Raise an InputError that names an invalid field and its valid values."""
    if recipe.seed < 0:
        raise InputError(f"seed={recipe.seed}: this must be at least 0.")
    has = {image.split for image in pack.images} | {caption.split for caption in pack.captions}
    for index, stage in enumerate(recipe.stages):
        _check_choices(stage)
        _check_earlier(stage, recipe.stages[:index])
        for name, number in _counts(stage).items():
            if number < 1:
                raise InputError(f"{stage.name}.{name}={number}: this must be at least 1.")
        for name, value in _amounts(stage).items():
            if not 0 <= value < float("inf"):
                raise InputError(f"{stage.name}.{name}={value:g}: this must be a number of at least 0.")
        for name, splits in (("sampling.split", stage.sampling.split), ("validation_split", stage.validation_split)):
            missing = [split for split in splits.split("+") if split not in has | {"all"}]
            if missing:
                raise InputError(
                    f"{stage.name}.{name}: {pack.folder} has nothing in the split '{missing[0]}'; it has "
                    f"{', '.join(sorted(has))}. Set another split, or prepare the pack with one."
                )
        if not hasattr(stage.objective, "build"):
            raise InputError(f"{stage.name}.objective is {stage.objective!r}, which is not an objective.")
        for sampling in (*_samplings(stage), *(_validation(other) for other in validating_stages(recipe, index))):
            rows_to_draw(pack, sampling)


def check_features(recipe: Recipe, pack: Pack, store: FeatureStore) -> None:
    """Raise an InputError that names an image which is needed but has no features."""
    counts = np.diff(store.offsets)
    if len(counts) != len(pack.images) or counts.all():
        return
    for stage in recipe.stages:
        for sampling in _samplings(stage):
            images = _images(pack, sampling)
            missing = [int(row) for row in images if not counts[row]]
            if missing:
                raise InputError(
                    f"{len(missing)} of the {len(images)} images in the split '{sampling.split}' have no features "
                    f"in {store.folder}, {pack.images[missing[0]].id} among them; extract features again.",
                    Step("extract", pack.folder),
                )


def check_pixels(recipe: Recipe, pack: Pack) -> None:
    """Raise an InputError that names an image whose pixels are needed but cannot be read, or damaged stored pixels."""
    rows = [
        _images(pack, sampling)
        for stage in recipe.stages
        if stage.sampling.pixels and stage.sampling.squash
        for sampling in _samplings(stage)
    ]
    if not rows:
        return
    squares = Squares(pack, 1)
    squares.check(np.unique(np.concatenate(rows)))
    if squares.stored is not None:
        squares.stored.verify()


def _images(pack: Pack, sampling: Sampling) -> np.ndarray:
    """Rows of the images that a sampling draws."""
    rows = rows_to_draw(pack, sampling)
    of_images = sampling.what == "images" or (sampling.what == "pairs" and sampling.captions_each is not None)
    images = np.unique(rows if of_images else pack.owner[rows])
    return images[images >= 0]


def _samplings(stage: Stage) -> tuple[Sampling, Sampling]:
    """What a stage reads in training and in validation. An evaluation needs captions, whatever the stage learns
    from."""
    validated = _validation(stage)
    if stage.evaluation == "self-retrieval":
        validated = replace(validated, what="images")
    elif stage.evaluation != "loss":
        validated = replace(validated, what="pairs")
    return stage.sampling, validated


def _validation(stage: Stage) -> Sampling:
    return replace(stage.sampling, split=stage.validation_split)


def _check_choices(stage: Stage) -> None:
    choices: dict[str, tuple[str, Collection[str]]] = {
        "optimiser.kind": (stage.optimiser.kind, OPTIMISERS),
        "schedule.kind": (stage.schedule.kind, SCHEDULES),
        "precision": (stage.precision, PRECISIONS),
        "evaluation": (stage.evaluation, ("loss", *EVALUATIONS)),
        "keep": (stage.keep, ("best", "last")),
        "sampling.what": (stage.sampling.what, ("pairs", "texts", "images")),
    }
    if stage.average is not None:
        choices["average.kind"] = (stage.average.kind, AVERAGES)
    for name, (value, known) in choices.items():
        if value not in known:
            raise InputError(f"{stage.name}.{name}={value}: invalid value; choose one of {', '.join(known)}.")


def _check_earlier(stage: Stage, before: tuple[Stage, ...]) -> None:
    names = [other.name for other in before]
    for name in stage.also_validated_by:
        if name not in names:
            raise InputError(
                f"{stage.name}.also_validated_by={name}: not an earlier stage; "
                + (f"those are {', '.join(names)}." if names else "this is the first stage.")
            )
    if stage.also_validated_by and (stage.evaluation, stage.monitor) != ("loss", "loss"):
        raise InputError(
            f"{stage.name}.also_validated_by adds up losses, so it needs {stage.name}.evaluation=loss and "
            f"{stage.name}.monitor=loss, not {stage.evaluation} and {stage.monitor}."
        )


def _amounts(stage: Stage) -> dict[str, float]:
    return {
        "optimiser.lr": stage.optimiser.lr,
        "optimiser.weight_decay": stage.optimiser.weight_decay,
        "optimiser.momentum": stage.optimiser.momentum,
        "schedule.factor": stage.schedule.factor,
        "schedule.warmup_steps": stage.schedule.warmup_steps,
        "clip_norm": stage.clip_norm,
        "clip_value": stage.clip_value,
        "patience": stage.patience,
    }


def _counts(stage: Stage) -> dict[str, int]:
    sampling = stage.sampling
    return {
        "epochs": stage.epochs,
        "accumulate": stage.accumulate,
        "evaluate_every": stage.evaluate_every,
        "schedule.every": stage.schedule.every,
        "sampling.batch": sampling.batch,
        "sampling.captions_each": 1 if sampling.captions_each is None else sampling.captions_each,
        "sampling.longest": 1 if sampling.longest is None else sampling.longest,
        "sampling.steps": 1 if sampling.steps is None else sampling.steps,
    }
