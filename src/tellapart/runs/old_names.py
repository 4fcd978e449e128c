"""Names that older runs store, and what they are called now."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

WEIGHTS = {"picture": "image"}
"""Parts of a weight's dotted name, old to new."""


def renamed_weights(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights under the names that models have now.

    >>> list(renamed_weights({"picture.project.bias": Tensor(), "lstm.bias": Tensor()}))
    ['image.project.bias', 'lstm.bias']
    """
    return {".".join(WEIGHTS.get(part, part) for part in name.split(".")): value for name, value in weights.items()}
