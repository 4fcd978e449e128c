"""Recipes on models of `transformers`: any recipe's objectives, with the model of `hf:FOLDER_OR_NAME`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError
from tellapart.core.model_names import model_folder
from tellapart.data.feature_choice import NO_FEATURES
from tellapart.models.captioners import CAPTIONERS
from tellapart.models.hub.reading import FOLDER, OwnReading
from tellapart.models.matchers import MATCHERS
from tellapart.models.matchers.pretrained import size_of
from tellapart.runs.bundled import run_folder
from tellapart.runs.hub_run import hub_model, is_own_folder
from tellapart.runs.recipe import Recipe, Stage
from tellapart.runs.run import model_stage, read_recipe


def is_own(model: Any) -> bool:
    """Whether a stage's model is one of transformers, which has its own tokenizer and processor."""
    return hasattr(model, "configuration")


def with_hub_model(recipe: Recipe, source: str, chosen: Collection[str]) -> Recipe:
    """The recipe with the model of `hf:FOLDER_OR_NAME` in its first stage; it then reads pixels."""
    first = recipe.stages[0]
    if first.name not in chosen:
        raise InputError(f"`start` sets the model of the first stage, '{first.name}', which is not among `stages`.")
    folder = model_folder(source)
    if is_own_folder(folder):
        return started_from_run(recipe, folder)
    return replace(_with_model(recipe, hub_model(source), source), features=NO_FEATURES)


def with_tuned_model(recipe: Recipe, run: str) -> Recipe:
    """The recipe with the model of a run in its first stage, where that is one of transformers: it is built from what
    the run stores of it, and gets the run's weights. Recipes that start from other runs are returned as they are."""
    described, assets = model_stage(read_recipe(run, objectives=False)).model, run_folder(run) / FOLDER
    if not is_own(described):
        if is_own(recipe.stages[0].model):
            raise InputError(
                f"'{run}' has no model of transformers, as the recipe '{recipe.name}' tunes; start from hf:FOLDER, or "
                "choose another recipe."
            )
        return recipe
    changed = _with_model(recipe, replace(described, source=str(assets)), run)
    first, *later = changed.stages
    return replace(changed, stages=(replace(first, start=run), *later), features=NO_FEATURES)


def _with_model(recipe: Recipe, found: Any, source: str) -> Recipe:
    """The recipe with this model, which learns from its pretrained weights, in the first stage."""
    first, *later = recipe.stages
    if not hasattr(found, "build") or type(found) not in (*MATCHERS.values(), *CAPTIONERS.values()):
        raise InputError(f"'{source}' is a chat model, which is used as it is; train BLIP, GIT or ViT-GPT2.")
    if type(first.model) is type(found):
        usual = type(found)()
        own = {field.name: getattr(first.model, field.name) for field in fields(found) if field.name != "source"}
        found = replace(found, **{name: value for name, value in own.items() if value != getattr(usual, name)})
    elif (type(first.model) in MATCHERS.values()) != (type(found) in MATCHERS.values()):
        kinds = ("captioner", "matcher")
        theirs, ours = (kinds[type(one) in MATCHERS.values()] for one in (found, first.model))
        raise InputError(f"'{source}' is a {theirs}, but the recipe '{recipe.name}' trains a {ours}.")
    return replace(recipe, stages=(replace(first, model=found, start="fresh", vision=None), *later))


def origin(source: str) -> str:
    """Where a model of transformers came from: of `RUN/hub`, what that run began with."""
    folder = Path(source)
    if folder.name != FOLDER or not (folder.parent / "recipe.json").is_file():
        return source
    return origin(str(model_stage(read_recipe(folder.parent, objectives=False)).model.source))


def started_from_run(recipe: Recipe, folder: str) -> Recipe:
    """The recipe with its first stage starting from a run in the hub's format."""
    first, *later = recipe.stages
    return replace(recipe, stages=(replace(first, start=folder), *later))


def own_reading(recipe: Recipe) -> OwnReading | None:
    """The tokenizer and processor of the recipe's model; None where its models read words of the pack.

    All models of one recipe read the same text.
    """
    models = [stage.model for stage in recipe.stages if stage.model is not None]
    own = [model for model in models if is_own(model)]
    if not own:
        return None
    if len(own) < len(models):
        raise InputError("A recipe cannot mix models of transformers with others: they read different words.")
    reading = own[0].reading()
    if any(model.reading().vocabulary.words != reading.vocabulary.words for model in own[1:]):
        raise InputError("The models of this recipe have different tokenizers; train them in separate runs.")
    assert isinstance(reading, OwnReading)
    return reading


def with_own_pixels(recipe: Recipe) -> Recipe:
    """The recipe whose stages read images of the size that its model of transformers reads."""
    own = next((stage.model for stage in recipe.stages if is_own(stage.model)), None)
    if own is None or recipe.features != NO_FEATURES:
        return recipe
    side = size_of(own.reading(), own.configuration())
    return replace(recipe, stages=tuple(_with_pixels(stage, side) for stage in recipe.stages))


def _with_pixels(stage: Stage, side: int) -> Stage:
    if stage.sampling.pixels or stage.sampling.what == "texts":
        return stage
    return replace(stage, sampling=replace(stage.sampling, pixels=side))
