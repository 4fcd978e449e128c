"""Recipes to JSON and back, and single fields overridden: a dict says which class a `kind` names."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from typing import Any

from tellapart.core.errors import InputError
from tellapart.core.fields import first_name, first_value, with_current_names
from tellapart.models.captioners import CAPTIONERS
from tellapart.models.matchers import MATCHERS
from tellapart.objectives import OBJECTIVES
from tellapart.runs.recipe import Recipe


def kinds() -> dict[str, type]:
    """Every class that can stand in a recipe's `model` or `objective`."""
    return {**MATCHERS, **CAPTIONERS, **OBJECTIVES}


def to_plain(value: Any, first_names: bool = False) -> Any:
    """Dataclasses to dicts, tuples to lists; models and objectives carry their `kind`.

    With `first_names`, fields have their first name (`core.fields.renamed`), so that recipe hashes never change.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        plain = {
            first_name(f) if first_names else f.name: first_value(f, held) if first_names else held
            for f in dataclasses.fields(value)
            if _told(f, value)
            for held in (to_plain(getattr(value, f.name), first_names),)
        }
        name = {cls: name for name, cls in kinds().items()}.get(type(value))
        return plain if name is None else {"kind": name, **plain} if "kind" not in plain else {"class": name, **plain}
    if isinstance(value, list | tuple):
        return [to_plain(item, first_names) for item in value]
    return value


def _told(field: dataclasses.Field, value: Any) -> bool:
    """Fields that recipes did not have at first are told only where they say something: older runs stay the same."""
    return not field.metadata.get("later") or getattr(value, field.name) != field.default


def recipe_from_plain(plain: dict[str, Any]) -> Recipe:
    return _from_plain(plain, Recipe)


def _from_plain(value: Any, wanted: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, dict):
        cls = _class_of(value, wanted)
        if cls is None:
            return value
        hints = typing.get_type_hints(cls)
        fields = {f.name for f in dataclasses.fields(cls)}
        value = with_current_names(cls, value)
        unknown = sorted(set(value) - fields - {"kind", "class"})
        if unknown:
            raise InputError(f"{cls.__name__} has no field {', '.join(unknown)}; it has {', '.join(sorted(fields))}.")
        return cls(**{name: _from_plain(item, hints[name]) for name, item in value.items() if name in fields})
    if isinstance(value, list):
        inner = typing.get_args(wanted)
        types_ = inner if inner and inner[-1] is not Ellipsis else (inner[:1] or (Any,)) * len(value)
        return tuple(_from_plain(item, kind) for item, kind in zip(value, types_))
    return value


def _class_of(value: dict[str, Any], wanted: Any) -> type | None:
    options = _options(wanted)
    expected = [option for option in options if dataclasses.is_dataclass(option)]
    if expected:
        return expected[0]  # type: ignore[return-value]
    name = value.get("class", value.get("kind"))
    if name is None:
        return None
    if name not in kinds():
        raise InputError(
            f"This recipe names '{name}', which is not known here; known are {', '.join(sorted(kinds()))}."
        )
    return kinds()[name]


def override(recipe: Recipe, settings: typing.Sequence[str]) -> Recipe:
    """`mle.epochs=3`, `stages.0.optimiser.rate=1e-4`, `seed=7`: the recipe with these fields changed.

    A stage goes by its name or by `stages.NUMBER`. Values are read as the field's own type.
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
            raise InputError(f"'{path}': this recipe has no stage '{parts[0]}'; it has {', '.join(names)}.")
        recipe = _changed(recipe, parts, text, path)
    return recipe


def _changed(value: Any, parts: list[str], text: str, path: str) -> Any:
    if isinstance(value, tuple) and parts[0].isdigit() and int(parts[0]) < len(value):
        index = int(parts[0])
        new = _changed(value[index], parts[1:], text, path) if parts[1:] else parsed(text, type(value[index]), path)
        return (*value[:index], new, *value[index + 1 :])
    if not dataclasses.is_dataclass(value):
        raise InputError(f"'{path}' leads nowhere: '{parts[0]}' is not inside {type(value).__name__}.")
    fields = {f.name for f in dataclasses.fields(value)}
    parts = [*with_current_names(type(value), {parts[0]: None}), *parts[1:]]
    if parts[0] not in fields:
        raise InputError(
            f"'{path}': {type(value).__name__} has no field '{parts[0]}'; it has {', '.join(sorted(fields))}."
        )
    held, wanted = getattr(value, parts[0]), typing.get_type_hints(type(value))[parts[0]]
    if parts[1:]:
        # A part that is left out (`average`) begins with its defaults when one of its fields is set.
        if held is None:
            held = next((o() for o in _options(wanted) if isinstance(o, type) and dataclasses.is_dataclass(o)), None)
        new = _changed(held, parts[1:], text, path)
    else:
        new = parsed(text, wanted, path)
    return dataclasses.replace(value, **{parts[0]: new})  # type: ignore[type-var]


def parsed(text: str, wanted: Any, path: str) -> Any:
    """Text as a value of the wanted type: numbers, true/false, none, words, comma-separated tuples (whose own parts
    colons divide, as in backbone:0.1,head:2), and JSON for whole models, objectives and other parts.
    """
    options = _options(wanted)
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
    raise InputError(f"'{path}={text}': the value does not fit; this field takes {names}.")


def _parsed_tuple(text: str, inner: tuple[Any, ...], path: str) -> tuple[Any, ...]:
    items = [item for item in text.split(",") if item]
    if inner[-1] is not Ellipsis and len(items) != len(inner):
        raise InputError(f"'{path}={text}': the value does not fit; this field takes {len(inner)} values.")
    kinds_of_parts = typing.get_args(inner[0]) if typing.get_origin(inner[0]) is tuple else ()
    if not kinds_of_parts:
        return tuple(parsed(item, inner[0], path) for item in items)
    if any(item.count(":") + 1 != len(kinds_of_parts) for item in items):
        raise InputError(f"'{path}={text}': the value does not fit; write it as in backbone:0.1,head:2.")
    return tuple(
        tuple(parsed(part, kind, path) for part, kind in zip(item.split(":"), kinds_of_parts)) for item in items
    )


def _parsed_part(text: str, wanted: Any, path: str) -> Any:
    """A whole model, objective or other part: JSON as `tellapart recipes NAME` shows it, or the bare name of a kind."""
    try:
        plain = {"kind": text} if text in kinds() else json.loads(text)
        part = _from_plain(plain, wanted) if isinstance(plain, dict) else None
    except (json.JSONDecodeError, TypeError) as error:
        raise InputError(f"'{path}={text}': this part is written as JSON ({error}); {_SHOWN}.") from error
    if not dataclasses.is_dataclass(part):
        raise InputError(f"'{path}={text}': this names no part; {_SHOWN}.")
    return part


_SHOWN = "`tellapart recipes NAME` shows such parts, and a model or objective may be named by its kind alone"


def _options(wanted: Any) -> tuple[Any, ...]:
    """The types a field may have."""
    return typing.get_args(wanted) if isinstance(wanted, types.UnionType) else (wanted,)
