"""A float32 matrix product from three products in float16, twice as fast as TF32 on tensor cores and as exact.

float16 keeps 11 significant bits, as TF32 does, but a small range of exponents. A factor is therefore scaled by a power
of two, which changes no digit, so that its largest number is near the top of that range. As in `split_product.py`, the
factor is then the sum of a rounded part and a rest, and three products are joined into one, the small ones first.

A number 2^-16 times as large as the largest of its factor still keeps float32's digits; smaller ones lose some.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

TOP = 14
"""The largest number of a scaled factor lies in [2^13, 2^14]: its square, times thousands of summands, fits float32."""


@dataclass(frozen=True)
class HalfFactor:
    """A factor prepared for several products."""

    joined: Tensor  # float16, [M, 3 K] of a left factor, [3 K, N] of a right one
    scale: Tensor  # [] float32, the power of two that the numbers were multiplied by


def can_multiply() -> bool:
    """Whether this torch writes a product of float16 matrices in float32, as versions from 2.8 on do."""
    return "dtype" in torch.ops.aten.mm.overloads()  # type: ignore[no-untyped-call]


def half_left(left: Tensor) -> HalfFactor:
    """[low, high, high] of the left factor [M, K]."""
    high, low, scale = _split(left)
    return HalfFactor(torch.cat([low, high, high], 1), scale)


def half_right(right: Tensor) -> HalfFactor:
    """[high; low; high] of the right factor [K, N]; its columns lie in memory one after another, as the product
    reads them fastest."""
    high, low, scale = _split(right.t())
    return HalfFactor(torch.cat([high, low, high], 1).t(), scale)


def scaled_product(left: HalfFactor, right: HalfFactor) -> tuple[Tensor, Tensor]:
    """left @ right [M, N] in float32, times a power of two; and the number [] that takes it back."""
    if left.joined.is_cuda:
        found = torch.mm(left.joined, right.joined, out_dtype=torch.float32)
    else:  # the same factors; a CPU has no such product
        found = left.joined.float() @ right.joined.float()
    return found, 1 / (left.scale * right.scale)


def _split(factor: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The rounded part and the rest, both float16, and the scale; nothing is read from the device."""
    largest = factor.abs().amax().clamp(min=2.0**-60) if factor.numel() else factor.new_ones(())
    scale = torch.ldexp(torch.ones_like(largest), TOP - torch.frexp(largest).exponent)
    scaled = factor * scale
    high = scaled.half()
    return high, (scaled - high.float()).half(), scale
