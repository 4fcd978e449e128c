"""Three products in float16 have float32's accuracy."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from tellapart.models.layers.half_product import HalfFactor, half_left, half_right, scaled_product


def exactly(left: HalfFactor, right: HalfFactor) -> Tensor:
    """The product of the parts with exact sums."""
    return left.joined.double() @ right.joined.double() / (left.scale * right.scale).double()


@pytest.mark.parametrize("size", [1e-20, 1.0, 3e4])
def test_nothing_is_lost_that_float32_keeps(size: float) -> None:
    """1024 summands, as in SCAN, of numbers of any size."""
    torch.manual_seed(0)
    left = functional.normalize(torch.randn(50, 1024), dim=1) * size
    right = functional.normalize(torch.randn(60, 1024), dim=1).t()
    exact = left.double() @ right.double()
    found = exactly(half_left(left), half_right(right))
    rounded = left.mul(1 / size).half().double() @ right.half().double() * size
    assert float((found - exact).abs().max()) < 1e-7 * size < 1e-5 * size < float((rounded - exact).abs().max())


def test_small_vectors_among_large_ones_keep_their_digits() -> None:
    torch.manual_seed(0)
    left = functional.normalize(torch.randn(2, 1024), dim=1) * torch.tensor([[1.0], [2.0**-14]])
    right = functional.normalize(torch.randn(60, 1024), dim=1).t()
    exact = left.double() @ right.double()
    errors = (exactly(half_left(left), half_right(right)) - exact).abs().amax(1)
    assert float(errors[0]) < 1e-7 and float(errors[1]) < 1e-7 * 2.0**-14


def test_the_product_comes_with_the_number_that_takes_its_scale_back() -> None:
    torch.manual_seed(0)
    left, right = torch.randn(7, 5), torch.randn(5, 3)
    found, back = scaled_product(half_left(left), half_right(right))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found * back, left @ right)
    assert torch.frexp(back).mantissa.item() == 0.5  # a power of two


def test_zeros_and_nothing_at_all() -> None:
    found, back = scaled_product(half_left(torch.zeros(2, 3)), half_right(torch.zeros(3, 4)))
    assert torch.equal(found * back, torch.zeros(2, 4))
    found, _ = scaled_product(half_left(torch.zeros(0, 3)), half_right(torch.ones(3, 4)))
    assert found.shape == (0, 4)
