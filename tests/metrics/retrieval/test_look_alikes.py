"""Judge accuracy by hand and against a plain loop."""

import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.metrics.retrieval.look_alikes import judge_accuracy, picked


def test_by_hand() -> None:
    """Caption 0: 0.9 beats 0.2 (image 2 has more, but is no look-alike). Caption 1 ties. Caption 2 loses."""
    scores = torch.tensor([[0.9, 0.2, 1.0], [0.5, 0.5, 0.1], [0.8, 0.0, 0.7]])
    assert judge_accuracy(scores, torch.tensor([[1], [0], [0]])) == pytest.approx(100 / 3)


def test_equals_a_plain_loop() -> None:
    generator = torch.Generator().manual_seed(0)
    scores = torch.rand(30, 30, generator=generator)
    neighbours = torch.stack([torch.randperm(29, generator=generator)[:3] for _ in range(30)])
    neighbours += (neighbours >= torch.arange(30)[:, None]).long()  # skips the own image
    right = 0
    for caption in range(30):
        right += all(scores[caption, caption] > scores[caption, int(other)] for other in neighbours[caption])
    assert 0 < right < 30 and judge_accuracy(scores, neighbours) == pytest.approx(100 * right / 30)


def test_equal_scores_and_nan_pick_nothing() -> None:
    assert judge_accuracy(torch.zeros(4, 4), torch.tensor([[1], [0], [0], [0]])) == 0
    assert judge_accuracy(torch.full((2, 2), torch.nan), torch.tensor([[1], [0]])) == 0


def test_shapes() -> None:
    with pytest.raises(InputError, match="at least one look-alike"):
        picked(torch.zeros(2), torch.zeros(2, 0))
