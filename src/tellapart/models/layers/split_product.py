"""A float32 matrix product on the tensor cores of a GPU, without their loss of digits.

Tensor cores round float32 factors to TF32, 11 significant bits, and add in float32. A factor is the sum of its rounded
part and a rest that is 2^-11 as large, so that

    a b = a_low b_high + a_high b_low + a_high b_high + O(2^-22 |a| |b|).

The three products are one: the parts are joined along the axis that is summed over, three times as long. The small
products come first. Tensor cores cut a sum off after each addition instead of rounding it, which costs the more digits
the larger the sum is: large from the start, it would be cut three times as often.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

DROPPED_BITS = 13
"""Of float32's 23 stored bits, TF32 keeps 10."""


@dataclass(frozen=True)
class FloatProduct:
    """Products to float32's accuracy. A factor of several products is prepared once."""

    split: bool
    """By tensor cores, with factors that are split; otherwise in float32."""

    def left(self, factor: Tensor) -> Tensor:
        """A prepared left factor, of [M, K]."""
        return joined_left(factor) if self.split else factor

    def right(self, factor: Tensor) -> Tensor:
        """A prepared right factor, of [K, N]."""
        return joined_right(factor) if self.split else factor

    def __call__(self, left: Tensor, right: Tensor) -> Tensor:
        """[M, N] from prepared factors."""
        if not self.split:
            return left @ right
        with _tf32():
            return left @ right


def product_of(example: Tensor) -> FloatProduct:
    """How factors like this one are multiplied: by tensor cores where its GPU has them."""
    return FloatProduct(_by_tensor_cores(example))


def joined_left(left: Tensor) -> Tensor:
    """[low, high, high] of the left factor [M, K]: [M, 3 K]."""
    high = to_tf32(left)
    return torch.cat([left - high, high, high], 1)


def joined_right(right: Tensor) -> Tensor:
    """[high; low; high] of the right factor [K, N]: [3 K, N]."""
    high = to_tf32(right)
    return torch.cat([high, right - high, high])


def to_tf32(values: Tensor) -> Tensor:
    """float32 values rounded to TF32's 11 significant bits, the nearest with ties away from zero.

    >>> to_tf32(torch.tensor([1.0, 1.0 + 2**-11, 1.0 + 2**-10])).tolist()
    [1.0, 1.0009765625, 1.0009765625]
    """
    bits = values.contiguous().view(torch.int32)
    half = 1 << (DROPPED_BITS - 1)
    return ((bits + half) & -(1 << DROPPED_BITS)).view(torch.float32)


def _by_tensor_cores(example: Tensor) -> bool:
    """Whether they are there and not in use already, by somebody who prefers speed to digits."""
    return (
        example.is_cuda
        and example.dtype == torch.float32
        and torch.get_float32_matmul_precision() == "highest"
        and torch.cuda.get_device_capability(example.device)[0] >= 8
    )


@contextmanager
def _tf32() -> Iterator[None]:
    """Products of float32 in TF32, for a block of code."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
