"""Self-retrieval from a score matrix against sorting each row."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.core.errors import InputError
from tellapart.metrics.retrieval.self_retrieval import self_retrieval


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10_000))
def test_equals_counting(captions: int, images: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randint(0, 4, (captions, images), generator=generator).float()
    owner = torch.randint(0, images, (captions,), generator=generator)
    found = self_retrieval(scores, owner, cutoffs=(1, 3))
    for k in (1, 3):
        hits = 0
        for caption, row in enumerate(scores.tolist()):
            others = [value for image, value in enumerate(row) if image != owner[caption]]
            hits += sum(value >= row[owner[caption]] for value in others) < k
        assert found[f"top{k}"] == pytest.approx(100 * hits / captions)


def test_a_model_that_sees_nothing_finds_nothing() -> None:
    assert self_retrieval(torch.zeros(4, 4), cutoffs=(1,)) == {"top1": 0.0}


def test_errors() -> None:
    with pytest.raises(InputError, match="give `owner`"):
        self_retrieval(torch.zeros(2, 3))
    with pytest.raises(InputError, match="must name one of the 3 images"):
        self_retrieval(torch.zeros(2, 3), torch.tensor([0, 3]))
    with pytest.raises(InputError, match="must be a matrix"):
        self_retrieval(torch.zeros(3))
