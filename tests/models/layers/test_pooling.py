"""Poolings by loop, with masks, and what generalised pooling can become."""

import pytest
import torch

from recording_world import NoQuestions
from tellapart.core.recording import recorded
from tellapart.models.layers.pooling import GeneralisedPooling, pooling

MASK = torch.tensor([[True, True, False], [True, True, True], [True, False, False]])


def rows() -> torch.Tensor:
    return torch.randn(3, 3, 8, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", ["mean", "max", "attention", "generalised"])
def test_padding_changes_nothing(name: str) -> None:
    torch.manual_seed(0)
    pool = pooling(name, 8).eval()
    found = pool(rows(), MASK)
    assert found.shape == (3, 8)
    for row in range(3):
        alone = rows()[row : row + 1, MASK[row]]
        single = pool(alone, torch.ones(1, alone.shape[1], dtype=torch.bool))
        assert torch.allclose(found[row], single[0], atol=1e-5)


def test_mean_and_max_by_loop() -> None:
    for row in range(3):
        real = rows()[row][MASK[row]]
        assert torch.allclose(pooling("mean", 8)(rows(), MASK)[row], real.mean(0), atol=1e-6)
        assert torch.allclose(pooling("max", 8)(rows(), MASK)[row], real.max(0).values)


def test_generalised_pooling_lies_between_mean_and_max() -> None:
    torch.manual_seed(0)
    pool = GeneralisedPooling()
    weights = pool.rank_weights(torch.tensor([1, 3]), 3)
    assert weights.sum(1).tolist() == pytest.approx([1, 1]) and weights[0].tolist() == [1, 0, 0]
    torch.nn.init.zeros_(pool.weigh.weight)  # equal weights for all ranks: the mean
    assert torch.allclose(pool(rows(), MASK), pooling("mean", 8)(rows(), MASK), atol=1e-5)


def test_recorded_pooling_asks_nothing_of_the_device() -> None:
    """A recorded step cannot know how many rows the images have; the vectors are the same."""
    torch.manual_seed(0)
    pool = GeneralisedPooling()
    plain = pool(rows(), MASK)
    with recorded(), NoQuestions():
        again = pool(rows(), MASK)
    torch.testing.assert_close(again, plain, atol=1e-6, rtol=1e-5)


def test_an_unknown_pooling_is_rejected() -> None:
    with pytest.raises(ValueError, match="pooling must be one of"):
        pooling("median", 8)
