"""The Lagrange multiplier: torch's own SGD as oracle, the clamp, and what a checkpoint keeps."""

import pytest
import torch

from tellapart.losses.lagrange_constraint import LagrangeConstraint
from tellapart.losses.reconstruction import CosineReconstruction


def test_by_hand() -> None:
    """eta 0.2, loss 0.3: slope 0.3/0.2 - 1 = 0.5, term 1 x 0.5; the first ascent takes all of it: 1 + 0.1 x 0.5 = 1.05.

    Then loss 0.1: slope -0.5, term 1.05 x -0.5 = -0.525; velocity 0.9 x 0.5 + 0.1 x -0.5 = 0.4; 1.05 + 0.04 = 1.09.
    """
    constraint = LagrangeConstraint(0.2, lr=0.1)
    assert constraint(torch.tensor(0.3)).item() == pytest.approx(0.5)
    assert constraint.multiplier.item() == pytest.approx(1.05)
    assert constraint(torch.tensor(0.1)).item() == pytest.approx(-0.525)
    assert constraint.multiplier.item() == pytest.approx(1.09)


def test_ascent_equals_torch_sgd_on_the_negated_gradient() -> None:
    raw = torch.nn.Parameter(torch.tensor(1.0))
    optimiser = torch.optim.SGD([raw], lr=5e-3, momentum=0.9, dampening=0.9, maximize=True)
    constraint = LagrangeConstraint(0.2)
    for value in torch.rand(50, generator=torch.Generator().manual_seed(0)):
        constraint(value)
        optimiser.zero_grad()
        (raw * (value / 0.2 - 1)).backward()
        optimiser.step()
        assert constraint.raw.item() == pytest.approx(raw.item(), rel=1e-5)


def test_the_raw_multiplier_leaves_the_range_and_only_its_use_is_clamped() -> None:
    constraint = LagrangeConstraint(1.0, start=0.0, lr=1.0)
    assert constraint(torch.tensor(0.0)).item() == 0  # lambda is 0
    assert constraint.raw.item() == -1 and constraint.multiplier.item() == 0
    high = LagrangeConstraint(1.0, start=150.0)
    assert high.multiplier.item() == 100 and high(torch.tensor(2.0)).item() == 100


def test_it_rests_in_evaluation_and_travels_with_the_state() -> None:
    constraint = LagrangeConstraint(0.2)
    constraint(torch.tensor(0.9))
    copy = LagrangeConstraint(0.2).eval()
    copy.load_state_dict(constraint.state_dict())
    before = copy.raw.clone()
    copy(torch.tensor(0.9))
    assert torch.equal(copy.raw, before) and copy.steps.item() == 1


def test_the_gradient_is_lambda_over_eta() -> None:
    loss = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    constraint = LagrangeConstraint(0.2, start=3.0).eval()
    assert torch.autograd.gradcheck(constraint, (loss,))
    constraint(loss).backward()
    assert loss.grad is not None and loss.grad.item() == pytest.approx(15)


def test_a_bound_of_zero_is_rejected() -> None:
    with pytest.raises(ValueError, match="positive"):
        LagrangeConstraint(0.0)


def test_cosine_distance_by_hand_and_by_loop() -> None:
    """(1,0) and (1,1): cosine 1/sqrt 2, so 1 - 0.7071; a zero prediction is at distance 1."""
    predicted = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    target = torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    assert CosineReconstruction()(predicted, target).tolist() == pytest.approx([1 - 2**-0.5, 1.0])
    first, second = torch.randn(5, 4), torch.randn(5, 4)
    naive = [1 - float(a @ b) / float(a.norm() * b.norm()) for a, b in zip(first, second)]
    assert CosineReconstruction()(first, second).tolist() == pytest.approx(naive, abs=1e-6)


def test_cosine_distance_gradients() -> None:
    parts = tuple(torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(CosineReconstruction(), parts)


def test_a_short_vector_has_a_direction_and_a_zero_vector_none() -> None:
    """Down to a length of 1e-8 the distance of equal vectors is 0; that of a zero vector is 1."""
    loss, rows = CosineReconstruction(), torch.tensor([[1.5e-8, 0.0], [0.0, 0.0]])
    assert loss(rows, rows).tolist() == pytest.approx([0.0, 1.0], abs=1e-6)
