"""The contrast against a reference: arithmetic by hand, a naive loop, the case of equal models, gradients."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.core.errors import InputError
from tellapart.losses.reference_contrast import ReferenceContrast


def test_by_hand() -> None:
    """One true pair with G = ln 3 and one mismatched with G = -ln 3, nu = 1.

    h(true) = 1 / (1 + 1/3) = 3/4; h(mismatched) = 1 / (1 + 3) = 1/4, so 1 - h = 3/4; loss = -2 ln(3/4) = 0.5754.
    """
    log3 = torch.tensor([math.log(3)])
    loss = ReferenceContrast()(log3 - 5, torch.tensor([-5.0]), torch.tensor([-7.0]), log3 - 7)
    assert loss.item() == pytest.approx(-2 * math.log(0.75), abs=1e-6)


def test_identical_models() -> None:
    """Target and reference equal: G = 0, h = 1/2, J = 2 ln(1/2) per pair; the gradient is 1/2 for every pair."""
    target = torch.tensor([-8.0, -9.0, -10.0, -11.0], requires_grad=True)
    loss = ReferenceContrast()(target[:2], target[:2].detach(), target[2:], target[2:].detach())
    assert -loss.item() == pytest.approx(2 * math.log(0.5), abs=1e-6)
    loss.backward()
    torch.testing.assert_close(target.grad, torch.tensor([-0.25, -0.25, 0.25, 0.25]))


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000), pairs=st.integers(1, 5), rounds=st.integers(1, 4), nu=st.sampled_from([0.5, 1.0, 3.0])
)
def test_naive_loop(seed: int, pairs: int, rounds: int, nu: float) -> None:
    """Eqs. 7-10 as printed: K copies of the true pairs, K rounds of mismatched ones, exp and log and all."""
    random = torch.Generator().manual_seed(seed)
    target, reference = (
        -10 + 3 * torch.randn(pairs * (1 + rounds), generator=random, dtype=torch.double) for _ in "ab"
    )

    def h(row: int) -> float:
        g = float(target[row]) - float(reference[row])
        return 1 / (1 + nu * math.exp(-g))

    total = 0.0
    for k in range(rounds):
        total += sum(math.log(h(row)) for row in range(pairs))
        total += sum(math.log(1 - h(pairs * (1 + k) + row)) for row in range(pairs))
    objective = total / rounds / pairs
    loss = ReferenceContrast(nu)(target[:pairs], reference[:pairs], target[pairs:], reference[pairs:])
    assert loss.item() == pytest.approx(-objective, rel=1e-9)


def test_parts_add_up() -> None:
    values = torch.randn(4, 6).unbind()
    both, positive, negative = (ReferenceContrast(parts=parts)(*values) for parts in ("both", "positive", "negative"))
    torch.testing.assert_close(both, positive + negative)


def test_extremes_stay_finite() -> None:
    """Log-probabilities hundreds of nats apart saturate without overflow, with a gradient of 1 or 0."""
    target = torch.tensor([-900.0, 0.0], requires_grad=True)
    reference = torch.tensor([0.0, -900.0])
    loss = ReferenceContrast()(target, reference, target, reference)
    loss.backward()
    assert loss.item() == pytest.approx(900.0)
    assert torch.isfinite(target.grad).all()


def test_gradcheck() -> None:
    reference = torch.randn(3, dtype=torch.double), torch.randn(6, dtype=torch.double)
    target = (
        torch.randn(3, dtype=torch.double, requires_grad=True),
        torch.randn(6, dtype=torch.double, requires_grad=True),
    )
    loss = ReferenceContrast(nu=2.0)
    assert torch.autograd.gradcheck(lambda a, b: loss(a, reference[0], b, reference[1]), target)


def test_errors() -> None:
    with pytest.raises(InputError, match="positive"):
        ReferenceContrast(nu=0)
    with pytest.raises(InputError, match="neutral"):
        ReferenceContrast(parts="neutral")
