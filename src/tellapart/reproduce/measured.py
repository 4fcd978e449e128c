"""What a measure gives: figures, and what each image adds to them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

SPLIT = "test"
"""What results are measured on; epochs are chosen on validation."""


@dataclass(frozen=True)
class Measured:
    figures: dict[str, float]
    items: dict[str, np.ndarray] = field(default_factory=dict)
