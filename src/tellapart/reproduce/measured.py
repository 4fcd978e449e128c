"""What a measure gives: figures, and what each picture adds to them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Measured:
    figures: dict[str, float]
    items: dict[str, np.ndarray] = field(default_factory=dict)
