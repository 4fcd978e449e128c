"""A recipe whose first stage starts from the weights of a finished run, and the packs that suit it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tellapart.core.errors import InputError, Step
from tellapart.core.files import read_json
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.models.matchers import MATCHERS
from tellapart.runs.bundled import run_folder, run_name
from tellapart.runs.recipe import Recipe
from tellapart.runs.run_features import backbone_identity, run_features
from tellapart.text.vocabulary import Vocabulary

FACTS = ("backbone", "kind", "resize", "width")
"""Facts that the pack's features must share with the run's: features of another kind would mean something else."""


def started_from(recipe: Recipe, start: str, chosen: Collection[str]) -> Recipe:
    """The recipe with its first stage starting from a run's weights; that stage must be among the chosen ones."""
    first, *later = recipe.stages
    if first.name not in chosen:
        other = next(stage.name for stage in later if stage.name in chosen)
        raise InputError(
            f"`start` sets the weights of the first stage, '{first.name}', which is not among `stages`. Set those of "
            f"another stage with `set='{other}.start={start}'`."
        )
    return replace(recipe, stages=(replace(first, start=start), *later))


def named_start(start: str, recipe: Recipe) -> str:
    """The run to start from; `bundled` is the package's model of the kind that the recipe trains."""
    model = recipe.stages[0].model
    return start if model is None else run_name(start, "matcher" if type(model) in MATCHERS.values() else "captioner")


def check_start(start: str, pack: Pack, store: FeatureStore | None, sees_pixels: bool = False) -> None:
    """Raise if a pack has another vocabulary or other features than the run."""
    folder = run_folder(start)
    if not (folder / "model.safetensors").is_file():
        raise InputError(f"`start`: {start} is not a finished run; it has no model.safetensors.")
    if Vocabulary.load(folder / "vocabulary.json").words != pack.vocabulary.words:
        raise InputError(
            f"{pack.folder} has another vocabulary than {start}; prepare it again with that one.",
            Step("prepare", "SOURCE", out="PACK", vocabulary_from=start),
        )
    if sees_pixels:  # features on disk do not matter then
        return
    theirs = run_features(read_json(folder / "data.json"), folder)
    ours = None if store is None else store.facts
    for fact in FACTS:
        was, now = (None if facts is None else facts.get(fact) for facts in (theirs, ours))
        if was != now and not (fact == "backbone" and backbone_identity(str(was)) == backbone_identity(str(now))):
            raise InputError(
                f"{start} was trained on features with {fact} '{was}', and these have '{now}'. Extract the same, and "
                "choose them with `features` if there are several.",
                Step("extract", pack.folder, like=start),
            )
