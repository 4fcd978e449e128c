"""Which stages of a recipe its last one needs: those it starts from, refers to, or is validated by.

Recipes of one paper often have the same first stages, so that a table trains these once. A single recipe need not train
a stage that its last one does not need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from tellapart.core.errors import InputError
from tellapart.runs.recipe import Recipe
from tellapart.runs.run import stage_path


def needed_stages(recipe: Recipe, last: int = -1) -> frozenset[str]:
    """Names of the stages that one stage (default: the last) may need, including itself.

    A stage needs another if a field of its start, model or objective holds the other's name, or if the other validates
    it. This may name a stage too many, which only costs training time.
    """
    names = [stage.name for stage in recipe.stages]
    if not names:
        return frozenset()
    index = range(len(names))[last]
    found, unvisited = {names[index]}, [index]
    while unvisited:
        index = unvisited.pop()
        stage = recipe.stages[index]
        words = {stage.start, *stage.also_validated_by, *_strings(stage.model), *_strings(stage.objective)}
        if "previous" in words and index:
            words.add(names[index - 1])
        for earlier in range(index):
            if names[earlier] in words - found:
                found.add(names[earlier])
                unvisited.append(earlier)
    return frozenset(found)


def chosen_stages(recipe: Recipe, names: Iterable[str]) -> frozenset[str]:
    """The named stages, or all if none is named. Raises an InputError where one of them needs one that is not named."""
    known = [stage.name for stage in recipe.stages]
    chosen = frozenset(names) or frozenset(known)
    unknown = sorted(chosen - set(known))
    if unknown:
        raise InputError(f"'{recipe.name}' has no stage '{unknown[0]}'; its stages are {', '.join(known)}.")
    if known[-1] not in chosen:
        raise InputError(f"'{recipe.name}' ends with stage '{known[-1]}': add it to `stages`.")
    for index, name in enumerate(known):
        missing = needed_stages(recipe, index) - chosen if name in chosen else frozenset()
        if missing:
            raise InputError(f"Stage '{name}' needs {_in_order(recipe, missing)}: add to `stages` what is missing.")
    return chosen


def unneeded_stages(recipe: Recipe) -> str:
    """A line that names the stages that a recipe's model does not need; empty if it needs all."""
    needed = needed_stages(recipe)
    others = frozenset(stage.name for stage in recipe.stages) - needed
    if not others:
        return ""
    return (
        f"The model of '{recipe.name}' does not need {_in_order(recipe, others)}: "
        f"`--stages {_in_order(recipe, needed, ' ')}` is enough for it."
    )


def finished_stages(recipe: Recipe, folder: Path) -> frozenset[str]:
    """The stages whose weights a run folder holds; they are written when a stage ends."""
    return frozenset(stage.name for stage in recipe.stages if stage_path(folder, stage.name).is_file())


def _in_order(recipe: Recipe, names: frozenset[str], between: str = ", ") -> str:
    return between.join(stage.name for stage in recipe.stages if stage.name in names)


def _strings(value: Any) -> Iterator[str]:
    """All strings in a configuration."""
    if isinstance(value, str):
        yield value
    elif is_dataclass(value) and not isinstance(value, type):
        for part in fields(value):
            yield from _strings(getattr(value, part.name))
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _strings(part)
