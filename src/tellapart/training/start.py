"""`tellapart train … --start RUN`: a recipe that goes on from a finished run, and the pack it can go on with."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tellapart.core.errors import InputError
from tellapart.core.files import read_json
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.runs.bundled import run_folder
from tellapart.runs.recipe import Recipe
from tellapart.text.vocabulary import Vocabulary

LOOK = ("backbone", "kind", "resize", "width")
"""Facts of features that must be the run's own: a row of another kind would mean something else."""


def started_from(recipe: Recipe, start: str, chosen: Collection[str]) -> Recipe:
    """The recipe with its first stage starting from a run's weights; that stage must be among those trained."""
    first, *later = recipe.stages
    if first.name not in chosen:
        other = next(stage.name for stage in later if stage.name in chosen)
        raise InputError(
            f"--start gives its weights to the first stage, '{first.name}', which --stages leaves out; give them to "
            f"another with --set {other}.start={start}."
        )
    return replace(recipe, stages=(replace(first, start=start), *later))


def check_start(start: str, pack: Pack, store: FeatureStore | None) -> None:
    """Refuses a pack whose words or features mean something else to the run."""
    folder = run_folder(start)
    if not (folder / "model.safetensors").is_file():
        raise InputError(f"--start {start} is no finished run: it has no model.safetensors.")
    if Vocabulary.load(folder / "vocabulary.json").words != pack.vocabulary.words:
        raise InputError(
            f"{pack.folder} has other words than {start}; prepare it with `--vocabulary-from {start}` so that they fit."
        )
    theirs = read_json(folder / "data.json")["features"]
    ours = None if store is None else store.facts
    for fact in LOOK:
        was, now = (None if facts is None else facts.get(fact) for facts in (theirs, ours))
        if was != now:
            raise InputError(
                f"{start} learned from features with {fact} '{was}', and these have '{now}'; run `tellapart extract "
                f"{pack.folder} --like {start}`, and choose them with --features where there are several."
            )
