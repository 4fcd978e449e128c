"""Parts of losses that the tests of whole losses do not notice."""

import pytest
import torch

from frozen_values import changeable
from tellapart.losses.negatives import reduce


def test_settings_never_change() -> None:
    """Recipes are hashed by them."""
    assert changeable("losses") == []


def test_a_mean_over_few_pairs() -> None:
    """One pair is its own mean, two are halved, and none cost nothing, with a gradient."""
    for values, mean in (([3.0], 3.0), ([3.0, 5.0], 4.0), ([], 0.0)):
        given = torch.tensor(values, requires_grad=True)
        found = reduce(given, "mean")
        assert found.item() == pytest.approx(mean) and reduce(given, "sum").item() == pytest.approx(sum(values))
        found.backward()
        assert given.grad is not None
