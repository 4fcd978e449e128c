"""Which stages of a recipe its last one rests on: those it goes on from, looks at, or is judged by.

Recipes of one paper often begin alike, so that a table of them trains what they share once. A single one of them need
not train what it never looks at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError
from tellapart.runs.recipe import Recipe
from tellapart.runs.run import stage_path


def rests_on(recipe: Recipe, last: int = -1) -> frozenset[str]:
    """Names of the stages that one stage (the last if none is named) may look at, itself among them.

    A stage is looked at where a field of another's start, model or objective holds its name. One that judges another
    counts too, since its objective may look at others still. This may name a stage too many, which costs training.
    """
    names = [stage.name for stage in recipe.stages]
    if not names:
        return frozenset()
    index = range(len(names))[last]
    found, open_ends = {names[index]}, [index]
    while open_ends:
        index = open_ends.pop()
        stage = recipe.stages[index]
        words = {stage.start, *stage.also_judged_by, *_words(stage.model), *_words(stage.objective)}
        if "previous" in words and index:
            words.add(names[index - 1])
        for earlier in range(index):
            if names[earlier] in words - found:
                found.add(names[earlier])
                open_ends.append(earlier)
    return frozenset(found)


def chosen_stages(recipe: Recipe, wanted: Iterable[str]) -> frozenset[str]:
    """The wanted stages, all if none is named. Raises an InputError where one of them rests on one left out."""
    names = [stage.name for stage in recipe.stages]
    chosen = frozenset(wanted) or frozenset(names)
    unknown = sorted(chosen - set(names))
    if unknown:
        raise InputError(f"'{recipe.name}' has no stage '{unknown[0]}'; it has {', '.join(names)}.")
    if names[-1] not in chosen:
        raise InputError(f"'{recipe.name}' ends with stage '{names[-1]}': add it to --stages.")
    for index, name in enumerate(names):
        missing = rests_on(recipe, index) - chosen if name in chosen else frozenset()
        if missing:
            raise InputError(f"Stage '{name}' rests on {_in_order(recipe, missing)}: add to --stages what is missing.")
    return chosen


def idle_stages(recipe: Recipe) -> str:
    """A line that names stages which a recipe's model does not rest on, if it has any."""
    needed = rests_on(recipe)
    idle = frozenset(stage.name for stage in recipe.stages) - needed
    if not idle:
        return ""
    kept = _in_order(recipe, needed, " ")
    return (
        f"The model of '{recipe.name}' does not rest on {_in_order(recipe, idle)}: `--stages {kept}` is enough for it."
    )


def finished_stages(recipe: Recipe, folder: Path) -> frozenset[str]:
    """Those whose weights a run folder holds: they are written when a stage ends."""
    return frozenset(stage.name for stage in recipe.stages if stage_path(folder, stage.name).is_file())


def _in_order(recipe: Recipe, names: frozenset[str], between: str = ", ") -> str:
    return between.join(stage.name for stage in recipe.stages if stage.name in names)


def _words(value: Any) -> Iterator[str]:
    """All strings in a configuration."""
    if isinstance(value, str):
        yield value
    elif is_dataclass(value) and not isinstance(value, type):
        for part in fields(value):
            yield from _words(getattr(value, part.name))
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _words(part)
