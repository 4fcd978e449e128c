"""Logistic regression of few numbers, fitted by Newton's method and stored as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart.core.errors import InputError

STEPS = 50
RIDGE = 1e-3
"""Keeps weights finite where the classes can be separated."""


@dataclass(frozen=True)
class Logistic:
    """p = 1 / (1 + exp(-(bias + sum of weight * feature)))."""

    features: tuple[str, ...]
    weights: tuple[float, ...]
    bias: float

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Probabilities [...] of features [..., F]."""
        return np.asarray(1 / (1 + np.exp(-(values @ np.asarray(self.weights) + self.bias))))

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {"features": list(self.features), "weights": list(self.weights), "bias": self.bias}

    @classmethod
    def read(cls, stored: Mapping[str, Any], features: Sequence[str]) -> Logistic:
        """From JSON; InputError if it was fitted on other features."""
        if tuple(stored["features"]) != tuple(features):
            raise InputError(f"The stored model reads {stored['features']}, not {list(features)}; fit it again.")
        return cls(tuple(features), tuple(map(float, stored["weights"])), float(stored["bias"]))


def fit_logistic(features: Sequence[str], values: np.ndarray, labels: np.ndarray) -> Logistic:
    """The likeliest weights for values [N, F] and labels [N] of 0 and 1, with a small ridge."""
    mean, deviation = values.mean(0), values.std(0).clip(1e-9)
    scaled = np.concatenate([(values - mean) / deviation, np.ones((len(values), 1))], 1)  # [N, F + 1]
    ridge = np.diag([RIDGE * len(values)] * values.shape[1] + [0.0])
    weights = np.zeros(scaled.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-scaled @ weights))
        gradient = scaled.T @ (labels - p) - ridge @ weights
        hessian = (scaled * (p * (1 - p))[:, None]).T @ scaled + ridge + 1e-9 * np.eye(len(weights))
        step = np.linalg.solve(hessian, gradient)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    slopes = weights[:-1] / deviation
    return Logistic(tuple(features), tuple(slopes.tolist()), float(weights[-1] - slopes @ mean))
