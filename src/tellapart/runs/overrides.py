"""Single fields of a recipe changed by text, such as `mle.epochs=3`: what `tellapart train --set` takes."""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Sequence
from typing import Any

from tellapart.core.errors import InputError
from tellapart.core.fields import with_current_names
from tellapart.core.suggestions import did_you_mean
from tellapart.runs.recipe import Recipe
from tellapart.runs.registry import from_plain, known_kinds, options_of

JSON_HELP = "write it as JSON, as `tellapart recipes NAME` prints it, or name a model or objective by its kind alone"


def override(recipe: Recipe, settings: Sequence[str]) -> Recipe:
    """The recipe with fields changed: `mle.epochs=3`, `stages.0.optimiser.lr=1e-4`, `seed=7`.

    A stage is named by its name or by `stages.NUMBER`. Values are read as the field's type.
    """
    for setting in settings:
        path, separator, text = setting.partition("=")
        if not separator:
            raise InputError(f"'{setting}' is not of the form field=value, such as {recipe.stages[0].name}.epochs=3.")
        parts = path.split(".")
        names = [stage.name for stage in recipe.stages]
        if parts[0] in names:
            parts = ["stages", str(names.index(parts[0])), *parts[1:]]
        elif len(parts) > 1 and parts[0] != "stages":
            hint = did_you_mean(parts[0], names) or f" Its stages are {', '.join(names)}."
            raise InputError(f"'{path}': this recipe has no stage '{parts[0]}'.{hint}")
        recipe = _changed(recipe, parts, text, path)
    return recipe


def _changed(value: Any, parts: list[str], text: str, path: str) -> Any:
    if isinstance(value, tuple) and parts[0].isdigit() and int(parts[0]) < len(value):
        index = int(parts[0])
        new = _changed(value[index], parts[1:], text, path) if parts[1:] else parsed(text, type(value[index]), path)
        return (*value[:index], new, *value[index + 1 :])
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        raise InputError(f"'{path}': {type(value).__name__} has no field '{parts[0]}'.")
    fields = {f.name for f in dataclasses.fields(value)}
    ((name, text),) = with_current_names(type(value), {parts[0]: text}).items()
    if name not in fields:
        hint = did_you_mean(name, fields) or f" Its fields are {', '.join(sorted(fields))}."
        raise InputError(f"'{path}': {type(value).__name__} has no field '{name}'.{hint}")
    held, hint = getattr(value, name), typing.get_type_hints(type(value))[name]
    if parts[1:]:
        # An optional part that is None (`average`) starts from its defaults when one of its fields is set.
        if held is None:
            held = next((o() for o in options_of(hint) if isinstance(o, type) and dataclasses.is_dataclass(o)), None)
        new = _changed(held, parts[1:], text, path)
    else:
        new = parsed(text, hint, path)
    return dataclasses.replace(value, **{name: new})


def parsed(text: str, hint: Any, path: str) -> Any:
    """Text as a value of the annotated type: numbers, true/false, none, words, comma-separated tuples (whose own parts
    colons divide, as in backbone:0.1,head:2), and JSON for whole models, objectives and other parts.
    """
    options = options_of(hint)
    if type(None) in options and text.lower() == "none":
        return None
    for option in options:
        if typing.get_origin(option) is tuple:
            return _parsed_tuple(text, typing.get_args(option), path)
        if option is Any or dataclasses.is_dataclass(option):
            return _parsed_part(text, option, path)
        if option is bool and text.lower() in ("true", "false"):
            return text.lower() == "true"
        if option in (int, float):
            try:
                return option(text)
            except ValueError:
                continue
        if option is str:
            return text
    names = " or ".join("none" if option is type(None) else option.__name__ for option in options)
    raise InputError(f"'{path}={text}': invalid value; this field takes {names}.")


def _parsed_tuple(text: str, inner: tuple[Any, ...], path: str) -> tuple[Any, ...]:
    items = [item for item in text.split(",") if item]
    if inner[-1] is not Ellipsis and len(items) != len(inner):
        raise InputError(f"'{path}={text}': invalid value; this field takes {len(inner)} values.")
    part_types = typing.get_args(inner[0]) if typing.get_origin(inner[0]) is tuple else ()
    if not part_types:
        return tuple(parsed(item, inner[0], path) for item in items)
    if any(item.count(":") + 1 != len(part_types) for item in items):
        raise InputError(f"'{path}={text}': invalid value; write it as in backbone:0.1,head:2.")
    return tuple(
        tuple(parsed(part, part_type, path) for part, part_type in zip(item.split(":"), part_types)) for item in items
    )


def _parsed_part(text: str, hint: Any, path: str) -> Any:
    """A whole model, objective or other part, from JSON or from the name of a kind."""
    try:
        plain = {"kind": text} if text in known_kinds() else json.loads(text)
        part = from_plain(plain, hint) if isinstance(plain, dict) else None
    except (json.JSONDecodeError, TypeError) as error:
        raise InputError(f"'{path}={text}': invalid value ({error}); {JSON_HELP}.") from error
    if not dataclasses.is_dataclass(part):
        raise InputError(f"'{path}={text}': invalid value; {JSON_HELP}.")
    return part
