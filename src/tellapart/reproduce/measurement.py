"""What a measure returns: values, and what each image contributes to them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

SPLIT = "test"
"""The split that results are measured on; epochs are selected on validation."""


@dataclass(frozen=True)
class Measurement:
    """Values by metric, and arrays with a value per image."""

    values: dict[str, float]
    items: dict[str, np.ndarray] = field(default_factory=dict)
