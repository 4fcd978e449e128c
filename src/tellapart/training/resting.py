"""Which stages of a recipe its last one rests on: those it goes on from, learns from, or is judged by.

Recipes of one paper often begin alike, so that a table of them trains what they share once. A single one of them need
not train what it never looks at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from tellapart.errors import InputError
from tellapart.training.recipe import Recipe
from tellapart.training.run import stage_path


def rests_on(recipe: Recipe, last: int = -1) -> frozenset[str]:
    """Names of the stages that one stage (the last if none is named) cannot do without, itself among them.

    A stage is looked at where a field of another's start, model or objective holds its name. A field that holds such a
    word by chance costs training, never a wrong model.
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
        raise InputError(f"'{names[-1]}' is the stage that '{recipe.name}' ends with: it cannot be left out.")
    for index, name in enumerate(names):
        missing = rests_on(recipe, index) - chosen if name in chosen else frozenset()
        if missing:
            raise InputError(f"Stage '{name}' rests on '{min(missing, key=names.index)}': that cannot be left out.")
    return chosen


def lacking_stage(recipe: Recipe, chosen: Collection[str], count: int, folder: Path) -> str | None:
    """The first of the chosen among a recipe's first `count` stages whose weights a run folder does not hold."""
    wanted = [stage.name for stage in recipe.stages[:count] if stage.name in chosen]
    return next((name for name in wanted if not stage_path(folder, name).is_file()), None)


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
