"""Ranges of activations, and their 256 levels."""

from __future__ import annotations

from dataclasses import dataclass

SMALLEST = 1e-6


@dataclass(frozen=True)
class Range:
    """The values that a layer's input or output takes, but for rare ones, which are clipped."""

    lowest: float
    highest: float

    def levels(self) -> tuple[float, int]:
        """Scale and zero point of unsigned 8 bits: value = scale * (level - zero). 0 is always a level.

        >>> Range(0.0, 255.0).levels()
        (1.0, 0)
        >>> Range(-64.0, 63.5).levels()
        (0.5, 128)
        """
        low, high = min(self.lowest, 0.0), max(self.highest, 0.0)
        scale = max((high - low) / 255, SMALLEST)
        return scale, round(-low / scale)
