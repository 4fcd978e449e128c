"""A recipe looked through before anything is written: a wrong word is told at once, not after an epoch."""

from __future__ import annotations

from collections.abc import Collection

from tellapart.data.pack import Pack
from tellapart.errors import InputError
from tellapart.evaluation import EVALUATIONS
from tellapart.training.recipe import Recipe, Stage

OPTIMISERS = ("adam", "adamw", "adamp", "sgd")
SCHEDULES = ("constant", "step", "milestones", "cosine", "cosine-rising")
PRECISIONS = ("float32", "bfloat16", "float16")
AVERAGES = ("epoch", "ema")


def check_recipe(recipe: Recipe, pack: Pack) -> None:
    """Raises an InputError that names the field, as `--set` writes it, and what it may be."""
    has = {picture.split for picture in pack.pictures} | {caption.split for caption in pack.captions}
    for stage in recipe.stages:
        _check_words(stage)
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


def _check_words(stage: Stage) -> None:
    words: dict[str, tuple[str, Collection[str]]] = {
        "optimiser.kind": (stage.optimiser.kind, OPTIMISERS),
        "schedule.kind": (stage.schedule.kind, SCHEDULES),
        "precision": (stage.precision, PRECISIONS),
        "evaluation": (stage.evaluation, ("loss", *EVALUATIONS)),
        "keep": (stage.keep, ("best", "last")),
        "sampling.what": (stage.sampling.what, ("pairs", "texts", "pictures")),
    }
    if stage.average is not None:
        words["average.kind"] = (stage.average.kind, AVERAGES)
    for name, (word, known) in words.items():
        if word not in known:
            raise InputError(f"{stage.name}.{name}={word}: there is no such thing; choose among {', '.join(known)}.")


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
