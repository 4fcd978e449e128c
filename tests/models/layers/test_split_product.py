"""A product of split factors has float32's accuracy, though every factor has TF32's."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tellapart.models.layers import split_product
from tellapart.models.layers.split_product import joined_left, joined_right, product_of, to_tf32


def as_tensor_cores_do(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Factors rounded to TF32, products and sums exact."""
    return to_tf32(left).double() @ to_tf32(right).double()


def test_split_factors_lose_nothing_that_float32_keeps() -> None:
    """1024 summands, as in SCAN: rounded once the error is near 1e-4, split it is below float32's own."""
    torch.manual_seed(0)
    left = torch.nn.functional.normalize(torch.randn(50, 1024), dim=1)
    right = torch.nn.functional.normalize(torch.randn(60, 1024), dim=1).t()
    exact = left.double() @ right.double()
    split = as_tensor_cores_do(joined_left(left), joined_right(right))
    rounded = as_tensor_cores_do(left, right)
    assert float((split - exact).abs().max()) < 1e-7 < 1e-5 < float((rounded - exact).abs().max())


@given(st.floats(-65536.0, 65536.0, width=32, allow_subnormal=False))
def test_rounding_keeps_eleven_bits(value: float) -> None:
    """Nothing is left in the 13 lowest bits, and the rest is at most 2^-11 of the value."""
    given_value = torch.tensor([value])
    rounded = to_tf32(given_value)
    assert int(rounded.view(torch.int32)[0]) % (1 << 13) == 0
    assert abs(float(given_value - rounded)) <= 2**-11 * abs(value)


def multiplied(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    product = product_of(left)
    return product(product.left(left), product.right(right))


def test_on_a_cpu_it_is_the_plain_product() -> None:
    torch.manual_seed(0)
    left, right = torch.randn(7, 5), torch.randn(5, 3)
    assert torch.equal(multiplied(left, right), left @ right)
    assert not split_product._by_tensor_cores(left)


def test_precision_is_set_for_the_product_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: the joined factors meet in TF32, and the setting of before comes back, after an error too."""
    seen: list[str] = []
    monkeypatch.setattr(split_product, "_by_tensor_cores", lambda left: True)
    before = torch.get_float32_matmul_precision()

    class Watched(torch.Tensor):
        """Notes the precision under which it is multiplied."""

        def __matmul__(self, other: torch.Tensor) -> torch.Tensor:
            seen.append(torch.get_float32_matmul_precision())
            return self.as_subclass(torch.Tensor) @ other

    torch.manual_seed(0)
    left, right = torch.randn(7, 5), torch.randn(5, 3)
    product = product_of(left)
    found = product(product.left(left).as_subclass(Watched), product.right(right))
    torch.testing.assert_close(found, left @ right)
    assert seen == ["high"] and torch.get_float32_matmul_precision() == before
    with pytest.raises(RuntimeError):
        multiplied(left, left)
    assert torch.get_float32_matmul_precision() == before
