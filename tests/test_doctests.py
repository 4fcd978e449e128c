"""Every example in a docstring runs and gives what it says."""

import doctest
import importlib
import importlib.util
import pkgutil

import pytest

import tellapart

MODULES = [
    module.name for module in pkgutil.walk_packages(tellapart.__path__, "tellapart.") if "__main__" not in module.name
]
KERNELS = {
    "tellapart.models.captioners.additive_attention_kernel",
    "tellapart.models.layers.cross_attention_kernel",
}
"""They import Triton, which only builds of torch for GPUs bring along."""


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    if name in KERNELS and importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    failures, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failures == 0
