"""Renamed fields of settings: settings stored under an old name keep working."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


def renamed(first: str, values: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Metadata of a field whose first name was `first`; `values` maps current values to stored ones.

    >>> @dataclasses.dataclass
    ... class Optimiser:
    ...     lr: float = dataclasses.field(default=0.1, metadata=renamed("rate"))
    >>> with_current_names(Optimiser, {"rate": 0.2})
    {'lr': 0.2}
    """
    return {"first_name": first, "first_values": dict(values or {})}


def first_name(field: dataclasses.Field[Any]) -> str:
    """The name under which a field is stored."""
    return str(field.metadata.get("first_name", field.name))


def first_value(field: dataclasses.Field[Any], value: Any) -> Any:
    """The value under which a current value is stored."""
    return field.metadata.get("first_values", {}).get(value, value) if isinstance(value, str) else value


def with_current_names(cls: type, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Stored fields of `cls` with their current names and values."""
    fields = {first_name(field): field for field in dataclasses.fields(cls)}
    current = {}
    for name, value in stored.items():
        field = fields.get(name)
        current_values = (
            {} if field is None else {old: new for new, old in field.metadata.get("first_values", {}).items()}
        )
        current[name if field is None else field.name] = (
            current_values.get(value, value) if isinstance(value, str) else value
        )
    return current
