"""Recipes to JSON and back: a dict says which class a `kind` names.

Objectives are imported only where one is read or written: opening a model for inference needs none.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any

from tellapart.core.errors import InputError
from tellapart.core.fields import first_name, first_value, with_current_names
from tellapart.core.suggestions import did_you_mean
from tellapart.models.captioners import CAPTIONERS
from tellapart.models.matchers import MATCHERS
from tellapart.runs.recipe import Recipe, Stage

MODELS: dict[str, Any] = {**MATCHERS, **CAPTIONERS}


def known_kinds() -> dict[str, Any]:
    """Every class that can be a recipe's `model` or `objective`, by name."""
    from tellapart.objectives import OBJECTIVES

    return {**MODELS, **OBJECTIVES}


def to_plain(value: Any, first_names: bool = False) -> Any:
    """Dataclasses as dicts and tuples as lists; models and objectives carry their `kind`.

    With `first_names`, fields have their first name (`core.fields.renamed`), so that recipe hashes never change.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        plain = {}
        for field in dataclasses.fields(value):
            if _is_stored(field, value):
                held = to_plain(getattr(value, field.name), first_names)
                plain[first_name(field) if first_names else field.name] = (
                    first_value(field, held) if first_names else held
                )
        name = {cls: name for name, cls in known_kinds().items()}.get(type(value))
        return plain if name is None else {"class" if "kind" in plain else "kind": name, **plain}
    if isinstance(value, list | tuple):
        return [to_plain(item, first_names) for item in value]
    return value


def _is_stored(field: dataclasses.Field[Any], value: Any) -> bool:
    """A field that recipes did not have at first is stored only where it differs from its default, so that hashes of
    older recipes stay the same."""
    return not field.metadata.get("later") or getattr(value, field.name) != field.default


def recipe_from_plain(plain: dict[str, Any], objectives: bool = True) -> Recipe:
    """The recipe that `to_plain` wrote, now or under earlier names. Without `objectives`, they stay dicts."""
    recipe: Recipe = from_plain(plain, Recipe, objectives)
    return recipe


def from_plain(value: Any, hint: Any, objectives: bool = True) -> Any:
    """The inverse of `to_plain` for a value whose annotated type is `hint`."""
    if value is None:
        return None
    if isinstance(value, dict):
        cls = _class_of(value, hint)
        if cls is None:
            return value
        hints = typing.get_type_hints(cls)
        fields = {f.name for f in dataclasses.fields(cls)}
        value = with_current_names(cls, value)
        unknown = sorted(set(value) - fields - {"kind", "class"})
        if unknown:
            raise InputError(
                f"{cls.__name__} has no field {', '.join(unknown)}; its fields are {', '.join(sorted(fields))}."
            )
        unread = {"objective"} if cls is Stage and not objectives else set()
        return cls(
            **{
                name: item if name in unread else from_plain(item, hints[name], objectives)
                for name, item in value.items()
                if name in fields
            }
        )
    if isinstance(value, list):
        inner = typing.get_args(hint)
        hints_ = inner if inner and inner[-1] is not Ellipsis else (inner[:1] or (Any,)) * len(value)
        return tuple(from_plain(item, item_hint, objectives) for item, item_hint in zip(value, hints_))
    return value


def _class_of(value: dict[str, Any], hint: Any) -> Any:
    expected = [option for option in options_of(hint) if dataclasses.is_dataclass(option)]
    if expected:
        return expected[0]
    name = value.get("class", value.get("kind"))
    if name is None:
        return None
    known = MODELS if name in MODELS else known_kinds()
    if name not in known:
        hint = did_you_mean(str(name), known) or f" Known kinds: {', '.join(sorted(known))}."
        raise InputError(f"This recipe names the unknown kind '{name}'.{hint}")
    return known[name]


def options_of(hint: Any) -> tuple[Any, ...]:
    """The types that a field with this annotation may have."""
    return typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
