"""Ranking losses: hand-worked cases, naive loops over random input, one image alone, gradients."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.losses import Contrast
from tellapart.losses.hardest_negative_contrast import HardestNegativeContrast
from tellapart.losses.hinge import HardestNegativeHinge, SumOfHinges
from tellapart.losses.info_nce import InfoNCE
from tellapart.losses.multimodal_contrast import MultimodalContrast
from tellapart.losses.unmasked_hinge import UnmaskedHinge

MARGIN, TAU = 0.2, 0.1
HAND = torch.tensor([[0.8, 0.7], [0.5, 0.6]], dtype=torch.float64)


def negatives(scores: Tensor, owner: Tensor, j: int) -> tuple[list[float], list[float]]:
    """Scores of pair j's negative captions and negative images, by visiting each in turn."""
    i = int(owner[j])
    captions = [float(scores[i, c]) for c in range(len(owner)) if int(owner[c]) != i]
    images = [float(scores[p, j]) for p in range(len(scores)) if p != i]
    return captions, images


def naive_sum_of_hinges(s: float, captions: list[float], images: list[float]) -> float:
    return sum(max(MARGIN + n - s, 0) for n in captions) + sum(max(MARGIN + n - s, 0) for n in images)


def naive_hardest_hinge(s: float, captions: list[float], images: list[float]) -> float:
    return sum(max(MARGIN + max(group) - s, 0) for group in (captions, images) if group)


def naive_info_nce(s: float, captions: list[float], images: list[float]) -> float:
    return sum(-math.log(math.exp(s / TAU) / sum(math.exp(n / TAU) for n in [s, *g])) for g in (captions, images))


def naive_hardest_contrast(s: float, captions: list[float], images: list[float]) -> float:
    return sum(
        max(-math.log(math.exp(s / TAU) / math.exp((max(g) + MARGIN) / TAU)), 0) for g in (captions, images) if g
    )


Naive = Callable[[float, list[float], list[float]], float]
CASES: dict[str, tuple[Callable[[str], nn.Module], Naive]] = {
    "sum-of-hinges": (lambda r: SumOfHinges(MARGIN, r), naive_sum_of_hinges),
    "hardest-negative-hinge": (lambda r: HardestNegativeHinge(MARGIN, r), naive_hardest_hinge),
    "info-nce": (lambda r: InfoNCE(TAU, "added", r), naive_info_nce),
    "hardest-negative-contrast": (lambda r: HardestNegativeContrast(MARGIN, TAU, r), naive_hardest_contrast),
}


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), images=st.integers(1, 5), extra=st.integers(0, 5))
def test_against_a_loop_over_pairs(name: str, seed: int, images: int, extra: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    owner = torch.cat([torch.arange(images), torch.randint(images, (extra,), generator=generator)])
    scores = torch.rand(images, len(owner), generator=generator, dtype=torch.float64) * 2 - 1
    make, naive = CASES[name]
    total = sum(naive(float(scores[owner[j], j]), *negatives(scores, owner, j)) for j in range(len(owner)))
    assert make("sum")(scores, owner).item() == pytest.approx(total, abs=1e-9)
    assert make("mean")(scores, owner).item() == pytest.approx(total / len(owner), abs=1e-9)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        # Pair 0 (.8): caption .7 -> .2+.7-.8 = .1, image .5 -> 0. Pair 1 (.6): caption .5 -> .1, image .7 -> .3.
        (SumOfHinges(0.2, "sum"), 0.5),
        (HardestNegativeHinge(0.2, "sum"), 0.5),
        (HardestNegativeContrast(0.2, 0.1, "mean"), 0.5 / 0.1 / 2),
        # No hinge, no margin: (.7-.8) + (.5-.8) + (.5-.6) + (.7-.6) = -.4, over tau 0.1 and two pairs.
        (HardestNegativeContrast(None, 0.1, "mean"), -2.0),
        # log(1+e^-1) + log(1+e^-3) + log(1+e^-1) + log(1+e^1), over two pairs, halved.
        (
            InfoNCE(0.1, "halved"),
            (2 * math.log(1 + math.exp(-1)) + math.log(1 + math.exp(-3)) + math.log(1 + math.exp(1))) / 4,
        ),
    ],
)
def test_worked_by_hand(loss: nn.Module, expected: float) -> None:
    """Two images, two captions: s = [[.8, .7], [.5, .6]]; the arithmetic stands beside each case."""
    assert loss(HAND, torch.tensor([0, 1])).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("loss", ["info-nce", "multimodal", "hardest-negative-contrast"])
@pytest.mark.parametrize("temperature", [0.0, -0.1, math.nan])
def test_a_temperature_that_is_not_positive_is_rejected(loss: str, temperature: float) -> None:
    """It would turn all scores into NaN, or the ranking round."""
    with pytest.raises(InputError, match="temperature must be positive"):
        Contrast(loss, temperature=temperature).build()


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("temperature", [0.05, 0.1, 1.0])
def test_convse_plus_plus_is_the_hinge_over_tau(reduction: str, temperature: float) -> None:
    """l_CMN = l_MH / tau in value and in gradient: the two differ by a factor, and so by clipping alone under Adam."""
    scores = torch.rand(6, 9, dtype=torch.float64, requires_grad=True)
    owner = torch.tensor([0, 1, 2, 3, 4, 5, 0, 3, 3])
    contrast = HardestNegativeContrast(0.2, temperature, reduction)(scores, owner)
    hinge = HardestNegativeHinge(0.2, reduction)(scores, owner) / temperature
    assert torch.allclose(contrast, hinge)
    assert torch.allclose(*(torch.autograd.grad(loss, scores)[0] for loss in (contrast, hinge)))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("captions", [1, 3])
def test_one_image_alone_costs_nothing(name: str, captions: int) -> None:
    """Without negatives there is nothing to learn: zero loss, and a gradient of zero rather than NaN."""
    scores = torch.rand(1, captions, dtype=torch.float64, requires_grad=True)
    loss = CASES[name][0]("mean")(scores, torch.zeros(captions, dtype=torch.long))
    loss.backward()
    assert loss.item() == pytest.approx(0, abs=1e-12)
    assert scores.grad is not None and scores.grad.abs().max() < 1e-12


@pytest.mark.parametrize("name", CASES)
def test_gradients(name: str) -> None:
    torch.manual_seed(0)
    scores = torch.randn(4, 7, dtype=torch.float64, requires_grad=True)
    owner = torch.tensor([0, 1, 2, 3, 0, 2, 2])
    assert torch.autograd.gradcheck(lambda s: CASES[name][0]("mean")(s, owner), (scores,))


def test_scores_too_large_for_exp_stay_finite() -> None:
    scores = torch.tensor([[500.0, -500.0], [400.0, 500.0]], requires_grad=True)
    loss = InfoNCE(0.01)(scores, torch.tensor([0, 1]))
    loss.backward()
    assert loss.isfinite() and scores.grad is not None and scores.grad.isfinite().all()


def naive_multimodal(vectors: Tensor, captions: Tensor, owner: Tensor) -> float:
    """SimCLR over 2N anchors: an image of each pair against other captions and images, a caption likewise."""
    total = 0.0
    for j, i in enumerate(owner.tolist()):
        pair = math.exp(float(vectors[i] @ captions[j]) / TAU)
        strangers = [k for k in range(len(owner)) if int(owner[k]) != i]
        others = [p for p in range(len(vectors)) if p != i]
        image = sum(math.exp(float(vectors[i] @ captions[k]) / TAU) for k in strangers)
        image += sum(math.exp(float(vectors[i] @ vectors[p]) / TAU) for p in others)
        caption = sum(math.exp(float(vectors[p] @ captions[j]) / TAU) for p in others)
        caption += sum(math.exp(float(captions[k] @ captions[j]) / TAU) for k in strangers)
        total -= math.log(pair / (pair + image)) + math.log(pair / (pair + caption))
    return total / (2 * len(owner))


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), images=st.integers(1, 4), extra=st.integers(0, 3))
def test_multimodal_against_a_loop(seed: int, images: int, extra: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    owner = torch.cat([torch.arange(images), torch.randint(images, (extra,), generator=generator)])
    vectors = torch.nn.functional.normalize(torch.randn(images, 3, generator=generator, dtype=torch.float64), dim=1)
    captions = torch.nn.functional.normalize(
        torch.randn(len(owner), 3, generator=generator, dtype=torch.float64), dim=1
    )
    found = MultimodalContrast(TAU)(vectors @ captions.t(), owner, vectors @ vectors.t(), captions @ captions.t())
    assert found.item() == pytest.approx(naive_multimodal(vectors, captions, owner), abs=1e-9)


def test_multimodal_by_hand() -> None:
    """Two pairs, every score 0: each anchor shares with 1 caption and 1 image more, so -log 1/3 for each."""
    zeros = torch.zeros(2, 2)
    assert MultimodalContrast()(zeros, torch.tensor([0, 1]), zeros, zeros).item() == pytest.approx(math.log(3))


def test_multimodal_gradients() -> None:
    parts = tuple(torch.randn(3, 3, dtype=torch.float64, requires_grad=True) for _ in range(3))
    owner = torch.tensor([0, 1, 2])
    assert torch.autograd.gradcheck(lambda s, p, c: MultimodalContrast(0.5)(s, owner, p, c), parts)


def test_margins_and_temperatures_are_the_papers() -> None:
    """VSE++ and SCAN: alpha = 0.2. ConVSE: tau = 0.1 and the margin 0.2. LTD: tau = 0.05."""
    hinges = (SumOfHinges, HardestNegativeHinge, HardestNegativeContrast, UnmaskedHinge)
    assert [loss().margin for loss in hinges] == [0.2] * 4
    assert HardestNegativeContrast().temperature == MultimodalContrast().temperature == 0.1
    assert InfoNCE().temperature == 0.05
