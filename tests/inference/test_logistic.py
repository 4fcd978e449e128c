"""Logistic regression against known weights and a closed form."""

import numpy as np
import pytest

from tellapart.core.errors import InputError
from tellapart.inference.logistic import Logistic, fit_logistic


def test_weights_are_recovered() -> None:
    random = np.random.default_rng(0)
    values = random.normal(size=(40_000, 2)) * (1, 5) + (0, 3)
    chance = 1 / (1 + np.exp(-(1.5 * values[:, 0] - 0.4 * values[:, 1] + 0.7)))
    fitted = fit_logistic(("a", "b"), values, (random.random(len(values)) < chance).astype(float))
    assert fitted.weights == pytest.approx((1.5, -0.4), abs=0.06) and fitted.bias == pytest.approx(0.7, abs=0.1)


def test_without_information_it_is_the_share() -> None:
    """Labels that do not depend on the value: p = 3/4 everywhere."""
    fitted = fit_logistic(("a",), np.asarray([[0.0]] * 4 + [[1.0]] * 4), np.asarray([1, 1, 1, 0] * 2, float))
    assert fitted(np.asarray([[0.0], [5.0]])) == pytest.approx([0.75, 0.75], abs=1e-6)


def test_stored_and_read() -> None:
    model = Logistic(("a", "b"), (1.0, -2.0), 0.5)
    assert Logistic.read(model.plain(), ("a", "b")) == model
    with pytest.raises(InputError, match="fit it again"):
        Logistic.read(model.plain(), ("b", "a"))
