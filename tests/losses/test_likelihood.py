"""Cross-entropy of words: by hand, against a loop, one word, gradients."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.core.errors import InputError
from tellapart.losses.likelihood import WordCrossEntropy
from tellapart.text.vocabulary import PAD


def test_by_hand() -> None:
    """p = (1/4, 1/2, 1/4): the first word costs ln 2, the second ln 4, mean 1.5 ln 2."""
    logits = torch.tensor([[0.25, 0.5, 0.25], [0.25, 0.5, 0.25]]).log()
    assert WordCrossEntropy()(logits, torch.tensor([1, 2])).item() == pytest.approx(1.5 * math.log(2), abs=1e-6)


def test_padding_costs_nothing_and_does_not_count() -> None:
    logits, targets = torch.randn(3, 4), torch.tensor([2, PAD, 3])
    loss = WordCrossEntropy(0.1)
    assert loss.per_word(logits, targets)[1].item() == 0.0
    torch.testing.assert_close(loss(logits, targets), loss(logits[[0, 2]], targets[[0, 2]]))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), smoothing=st.sampled_from([0.0, 0.1, 0.5]))
def test_naive_loop(seed: int, smoothing: float) -> None:
    random = torch.Generator().manual_seed(seed)
    logits, targets = torch.randn(5, 7, generator=random), torch.randint(1, 7, (5,), generator=random)
    total = 0.0
    for row, target in zip(logits.tolist(), targets.tolist()):
        norm = math.log(sum(math.exp(value) for value in row))
        wanted = [smoothing / 7 + (1 - smoothing) * (word == target) for word in range(7)]
        total -= sum(share * (value - norm) for share, value in zip(wanted, row))
    assert WordCrossEntropy(smoothing)(logits, targets).item() == pytest.approx(total / 5, rel=1e-4)


def test_a_certain_word_costs_nothing() -> None:
    assert WordCrossEntropy()(torch.tensor([[0.0, 80.0]]), torch.tensor([1])).item() == 0.0


def test_gradcheck() -> None:
    logits = torch.randn(3, 4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda values: WordCrossEntropy(0.1)(values, torch.tensor([2, 1, 3])), logits)


def test_error() -> None:
    with pytest.raises(InputError, match=r"\[0, 1\)"):
        WordCrossEntropy(1.0)


def test_a_single_word_is_divided_by_one() -> None:
    """One word of two equally likely ones: ln 2; nothing but padding: 0."""
    assert WordCrossEntropy()(torch.zeros(1, 2), torch.tensor([1])).item() == pytest.approx(math.log(2))
    assert WordCrossEntropy()(torch.zeros(2, 2), torch.tensor([0, 0])).item() == 0.0
