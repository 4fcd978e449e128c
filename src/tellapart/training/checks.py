"""A recipe looked through before anything is written: a wrong word is told at once, not after an epoch."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from tellapart.core.errors import InputError
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.data.sampling import Sampling, rows_to_draw
from tellapart.evaluation import EVALUATIONS
from tellapart.runs.recipe import Recipe, Stage
from tellapart.training.judging import judges

OPTIMISERS = ("adam", "adamw", "adamp", "sgd")
SCHEDULES = ("constant", "step", "milestones", "cosine", "cosine-rising")
PRECISIONS = ("float32", "bfloat16", "float16")
AVERAGES = ("epoch", "ema")


def check_recipe(recipe: Recipe, pack: Pack) -> None:
    """Raises an InputError that names the field, as `--set` writes it, and what it may be."""
    has = {image.split for image in pack.images} | {caption.split for caption in pack.captions}
    for index, stage in enumerate(recipe.stages):
        _check_words(stage)
        _check_earlier(stage, recipe.stages[:index])
        for name, number in _counts(stage).items():
            if number < 1:
                raise InputError(f"{stage.name}.{name}={number}: this must be at least 1.")
        for name, splits in (("sampling.split", stage.sampling.split), ("validation_split", stage.validation_split)):
            missing = [split for split in splits.split("+") if split not in has | {"all"}]
            if missing:
                raise InputError(
                    f"{pack.folder} has nothing in the split '{missing[0]}'; it has {', '.join(sorted(has))}. "
                    f"Choose with --set {stage.name}.{name}=SPLIT, or prepare the pack with --split."
                )
        if not hasattr(stage.objective, "build"):
            raise InputError(f"{stage.name}.objective is {stage.objective!r}, which is no objective.")
        for sampling in (*_samplings(stage), *(_validation(judge) for judge in judges(recipe, index))):
            rows_to_draw(pack, sampling)


def check_features(recipe: Recipe, pack: Pack, store: FeatureStore) -> None:
    """Raises an InputError that names an image which has no features and is needed."""
    counts = np.diff(store.offsets)
    if len(counts) != len(pack.images) or counts.all():
        return
    for stage in recipe.stages:
        for sampling in _samplings(stage):
            rows = rows_to_draw(pack, sampling)
            of_images = sampling.what == "images" or (sampling.what == "pairs" and sampling.captions_each is not None)
            images = np.unique(rows if of_images else pack.owner[rows])
            lacking = [int(row) for row in images if row >= 0 and not counts[row]]
            if lacking:
                raise InputError(
                    f"{len(lacking)} of the {len(images)} images in the split '{sampling.split}' have no features "
                    f"in {store.folder}, {pack.images[lacking[0]].id} among them; run `tellapart extract` again."
                )


def _samplings(stage: Stage) -> tuple[Sampling, Sampling]:
    """What a stage reads in training and in validation. An evaluation compares with captions, whatever is learned."""
    judged = _validation(stage)
    if stage.evaluation == "self-retrieval":
        judged = replace(judged, what="images")
    elif stage.evaluation != "loss":
        judged = replace(judged, what="pairs")
    return stage.sampling, judged


def _validation(stage: Stage) -> Sampling:
    return replace(stage.sampling, split=stage.validation_split)


def _check_words(stage: Stage) -> None:
    words: dict[str, tuple[str, Collection[str]]] = {
        "optimiser.kind": (stage.optimiser.kind, OPTIMISERS),
        "schedule.kind": (stage.schedule.kind, SCHEDULES),
        "precision": (stage.precision, PRECISIONS),
        "evaluation": (stage.evaluation, ("loss", *EVALUATIONS)),
        "keep": (stage.keep, ("best", "last")),
        "sampling.what": (stage.sampling.what, ("pairs", "texts", "images")),
    }
    if stage.average is not None:
        words["average.kind"] = (stage.average.kind, AVERAGES)
    for name, (word, known) in words.items():
        if word not in known:
            raise InputError(f"{stage.name}.{name}={word}: there is no such thing; choose among {', '.join(known)}.")


def _check_earlier(stage: Stage, before: tuple[Stage, ...]) -> None:
    names = [other.name for other in before]
    for name in stage.also_judged_by:
        if name not in names:
            raise InputError(
                f"{stage.name}.also_judged_by={name}: no earlier stage is called so; "
                + (f"they are {', '.join(names)}." if names else "this is the first.")
            )
    if stage.also_judged_by and (stage.evaluation, stage.monitor) != ("loss", "loss"):
        raise InputError(
            f"{stage.name}.also_judged_by adds up losses, so it wants {stage.name}.evaluation=loss and "
            f"{stage.name}.monitor=loss, not {stage.evaluation} and {stage.monitor}."
        )


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
