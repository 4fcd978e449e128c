"""The preprocessing of a backbone: size, scale and interpolation of its input images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Interpolation = Literal["bilinear", "bicubic"]


@dataclass(frozen=True)
class Preprocessing:
    """How images are resized and scaled for a backbone."""

    size: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    interpolation: Interpolation = "bilinear"
    crop: float = 0.875
    """Share of the resized short side that a centre crop keeps."""
