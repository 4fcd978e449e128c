"""Losses on attention: by hand, against a loop, at the edges, and their gradients."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.losses.attention import ATTENTION_LOSSES, AnyRegionLikelihood, AttentionDivergence, RegionLikelihood


def test_divergence_by_hand() -> None:
    """beta = (1/2, 1/2), alpha = (3/4, 1/4).

    KL(beta || alpha) = 1/2 ln(2/3) + 1/2 ln 2 = 1/2 ln(4/3). KL(alpha || beta) = 3/4 ln(3/2) + 1/4 ln(1/2).
    """
    beta, alpha = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.75, 0.25]])
    assert AttentionDivergence()(beta, alpha).item() == pytest.approx(0.5 * math.log(4 / 3))
    expected = 0.75 * math.log(1.5) + 0.25 * math.log(0.5)
    assert AttentionDivergence(teacher_first=True)(beta, alpha).item() == pytest.approx(expected)


def test_region_likelihood_by_hand() -> None:
    """The teacher's favourite is the second region: -ln 0.2."""
    loss = RegionLikelihood()(torch.tensor([[0.7, 0.2, 0.1]]), torch.tensor([[0.3, 0.4, 0.3]]))
    assert loss.item() == pytest.approx(-math.log(0.2))


def test_any_region_by_hand() -> None:
    """Eq. 16 with regions 1 and 3 right: -(ln 0.7 + ln 0.1); as released, half of it. No right region: 0."""
    beta = torch.tensor([[0.7, 0.2, 0.1], [0.7, 0.2, 0.1]])
    gamma = torch.tensor([[True, False, True], [False, False, False]])
    expected = -(math.log(0.7) + math.log(0.1))
    assert AnyRegionLikelihood()(beta, gamma).tolist() == pytest.approx([expected, 0.0])
    assert AnyRegionLikelihood(mean=True)(beta, gamma).tolist() == pytest.approx([expected / 2, 0.0])


@given(st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_divergence_equals_a_loop(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    beta = torch.randn(3, 5, generator=generator).softmax(-1)
    alpha = torch.randn(3, 5, generator=generator).mul(9).softmax(-1)
    for name, (first, second) in {"kl": (beta, alpha), "kl-teacher-first": (alpha, beta)}.items():
        expected = [
            sum(max(a, 1e-8) * (math.log(max(a, 1e-8)) - math.log(max(b, 1e-8))) for a, b in zip(one, two))
            for one, two in zip(first.tolist(), second.tolist())
        ]
        assert ATTENTION_LOSSES[name](beta, alpha).tolist() == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", list(ATTENTION_LOSSES))
def test_zeros_stay_finite_and_no_word_is_no_loss(name: str) -> None:
    beta = torch.tensor([[0.0, 1.0, 0.0]], requires_grad=True)
    alpha = torch.tensor([[1.0, 0.0, 0.0]])
    loss = ATTENTION_LOSSES[name](beta, alpha).sum()
    loss.backward()
    assert loss.isfinite() and beta.grad is not None and beta.grad.isfinite().all()
    assert ATTENTION_LOSSES[name](torch.zeros(0, 3), torch.zeros(0, 3)).sum() == 0


def test_equal_attention_costs_nothing_and_padding_neither() -> None:
    beta = torch.tensor([[0.25, 0.75]])
    padded = torch.nn.functional.pad(beta, (0, 3))
    for teacher_first in (False, True):
        assert AttentionDivergence(teacher_first)(beta, beta).item() == pytest.approx(0, abs=1e-7)
        assert AttentionDivergence(teacher_first)(padded, padded).item() == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("name", list(ATTENTION_LOSSES))
def test_gradients(name: str) -> None:
    torch.manual_seed(0)
    raw = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    alpha = torch.randn(2, 4, dtype=torch.float64).softmax(-1)
    target = alpha > 0.2 if name.startswith("any") else alpha
    assert torch.autograd.gradcheck(lambda x: ATTENTION_LOSSES[name](x.softmax(-1), target), (raw,))


def test_losses_by_name() -> None:
    """beta (1/4, 3/4), both regions correct: -ln(1/4) - ln(3/4), and half of it as a mean; the divergence has the
    teacher first only under its own name."""
    beta, gamma = torch.tensor([[0.25, 0.75]]), torch.tensor([[0.5, 0.5]])
    found = {name: float(loss(beta, gamma)) for name, loss in ATTENTION_LOSSES.items() if name != "nll"}
    total = -math.log(0.25) - math.log(0.75)
    assert found["any-region"] == pytest.approx(total)
    assert found["any-region-mean"] == pytest.approx(total / 2)
    assert found["kl"] == pytest.approx(0.25 * math.log(0.5) + 0.75 * math.log(1.5))
    assert found["kl-teacher-first"] == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))


@pytest.mark.parametrize("name", ATTENTION_LOSSES)
def test_one_loss_per_word(name: str) -> None:
    beta = torch.tensor([[0.25, 0.75], [0.5, 0.5], [0.9, 0.1]])
    assert ATTENTION_LOSSES[name](beta, beta).shape == (3,)


def test_region_likelihood_of_several_words() -> None:
    """The teacher's best regions are 1, 0 and 1: -ln of the student's 3/4, 1/2 and 1/10."""
    beta = torch.tensor([[0.25, 0.75], [0.5, 0.5], [0.9, 0.1]])
    gamma = torch.tensor([[0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
    found = ATTENTION_LOSSES["nll"](beta, gamma).tolist()
    assert found == pytest.approx([-math.log(0.75), -math.log(0.5), -math.log(0.1)], rel=1e-5)


def test_a_mean_over_one_region_is_its_own_loss() -> None:
    """One correct region of 1/4: -ln(1/4), divided by one."""
    loss = ATTENTION_LOSSES["any-region-mean"](torch.tensor([[0.25, 0.75]]), torch.tensor([[1.0, 0.0]]))
    assert loss.item() == pytest.approx(-math.log(0.25))
