"""The policy gradient: by hand, against a loop, degenerate batches, gradients, the leave-one-out baseline."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.losses.policy_gradient import PolicyGradient, leave_one_out


def test_by_hand() -> None:
    """Sentences of two words and one word, advantages 2 and -1: -(2 (-1 - 3) + -1 (-0.5)) / 3 = 7.5 / 3 = 2.5."""
    log_probability = torch.tensor([[-1.0, -3.0], [-0.5, -9.0]])
    mask = torch.tensor([[True, True], [True, False]])
    assert PolicyGradient()(log_probability, torch.tensor([2.0, -1.0]), mask).item() == pytest.approx(2.5)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), each_word=st.booleans())
def test_naive_loop(seed: int, each_word: bool) -> None:
    random = torch.Generator().manual_seed(seed)
    log_probability = -torch.rand(4, 5, generator=random)
    advantage = torch.randn((4, 5) if each_word else (4,), generator=random)
    mask = torch.arange(5) < torch.randint(1, 6, (4, 1), generator=random)
    total, words = 0.0, 0
    for n in range(4):
        for t in range(5):
            if mask[n, t]:
                total -= float(log_probability[n, t]) * float(advantage[n, t] if each_word else advantage[n])
                words += 1
    assert PolicyGradient()(log_probability, advantage, mask).item() == pytest.approx(total / words, abs=1e-5)


def test_no_advantage_no_gradient() -> None:
    log_probability = torch.randn(2, 3, requires_grad=True)
    PolicyGradient()(log_probability, torch.zeros(2), torch.ones(2, 3, dtype=torch.bool)).backward()
    assert (log_probability.grad == 0).all()
    empty = PolicyGradient()(torch.zeros(1, 2), torch.ones(1), torch.zeros(1, 2, dtype=torch.bool))
    assert empty.item() == 0


def test_gradcheck_and_detached_advantage() -> None:
    log_probability = torch.randn(2, 3, dtype=torch.double, requires_grad=True)
    advantage = torch.randn(2, dtype=torch.double, requires_grad=True)
    mask = torch.tensor([[True, True, False], [True, True, True]])
    assert torch.autograd.gradcheck(lambda value: PolicyGradient()(value, advantage, mask), log_probability)
    PolicyGradient()(log_probability, advantage, mask).backward()
    assert advantage.grad is None


def test_leave_one_out() -> None:
    """Rewards 1, 2, 6 of one image: the others' means are 4, 3.5, 1.5."""
    assert leave_one_out(torch.tensor([1.0, 2.0, 6.0]), 3).tolist() == [4.0, 3.5, 1.5]
    assert leave_one_out(torch.tensor([1.0, 2.0]), 1).tolist() == [0.0, 0.0]


def test_a_single_word_is_divided_by_one() -> None:
    """One word of log-probability -2 with the advantage 3: 6, not 3."""
    mask = torch.tensor([[True, False]])
    loss = PolicyGradient()(torch.tensor([[-2.0, -5.0]]), torch.tensor([3.0]), mask)
    assert loss.item() == 6.0
    assert PolicyGradient()(torch.tensor([[-2.0]]), torch.tensor([3.0]), torch.tensor([[False]])).item() == 0.0
