"""Every example in a docstring runs and gives what it says."""

import doctest
import importlib
import pkgutil

import pytest

import tellapart

MODULES = [
    module.name for module in pkgutil.walk_packages(tellapart.__path__, "tellapart.") if "__main__" not in module.name
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    failures, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failures == 0
