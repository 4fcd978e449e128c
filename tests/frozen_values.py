"""Which dataclasses of a package can be changed after they were made."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import is_dataclass
from typing import Any


def changeable(package: str) -> list[str]:
    """Names of the dataclasses in `tellapart.PACKAGE` that are not frozen.

    Kernels for GPUs are left out where Triton, which they import, is not installed.
    """
    root = importlib.import_module(f"tellapart.{package}")
    found = []
    inner = [module.name for module in pkgutil.walk_packages(root.__path__, f"{root.__name__}.")]
    for module in (root.__name__, *inner):
        try:
            own: Any = vars(importlib.import_module(module))
        except ModuleNotFoundError as error:
            if error.name != "triton":
                raise
            continue
        for name, value in own.items():
            made_here = inspect.isclass(value) and value.__module__ == module
            if made_here and is_dataclass(value) and not value.__dataclass_params__.frozen:
                found.append(f"{module}.{name}")
    return found
