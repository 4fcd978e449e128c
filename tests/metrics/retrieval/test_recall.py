"""Recall, folds and R-precision: hand-worked, against sorting loops, ties and NaN."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.metrics.retrieval.recall import (
    Ranks,
    best_ranks,
    fold_recall,
    own_captions,
    r_precision,
    recall,
    summarise,
    thousand_folds,
)


def naive_recall(scores: Tensor, owner: Tensor, cutoff: int) -> tuple[float, float]:
    """By sorting each query's answers."""
    images, captions = scores.shape
    forward = backward = 0
    for i in range(images):
        order = sorted(range(captions), key=lambda c: -float(scores[i, c]))
        forward += any(int(owner[c]) == i for c in order[:cutoff])
    for j in range(captions):
        order = sorted(range(images), key=lambda p: -float(scores[p, j]))
        backward += int(owner[j]) in order[:cutoff]
    return 100 * forward / images, 100 * backward / captions


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), images=st.integers(1, 30), each=st.integers(1, 4))
def test_against_sorting(seed: int, images: int, each: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    owner = torch.arange(images).repeat_interleave(each)
    scores = torch.randn(images, len(owner), generator=generator, dtype=torch.float64)
    found = recall(scores, owner)
    for cutoff in (1, 5, 10):
        forward, backward = naive_recall(scores, owner, cutoff)
        assert found[f"i2t_r{cutoff}"] == pytest.approx(forward)
        assert found[f"t2i_r{cutoff}"] == pytest.approx(backward)
    assert found["rsum"] == pytest.approx(sum(found[f"{d}_r{k}"] for d in ("i2t", "t2i") for k in (1, 5, 10)))


def test_by_hand() -> None:
    """Image 0 owns captions 0 and 1, image 1 owns 2. Row 0: .1 .9 .5 -> its best is first. Row 1: .2 .8
    .7 -> second.

    Columns: caption 0 prefers image 1 (.2 > .1), caption 1 its own, caption 2 its own: R@1 is 1/2 and 2/3.
    """
    found = recall(torch.tensor([[0.1, 0.9, 0.5], [0.2, 0.8, 0.7]]), torch.tensor([0, 0, 1]))
    assert found["i2t_r1"] == 50 and found["t2i_r1"] == pytest.approx(200 / 3)
    assert found["i2t_r5"] == 100 and found["t2i_median"] == 1


def test_the_median_of_an_even_number_of_queries() -> None:
    """Ranks 0 and 3, counted from 0: their middle is 1.5, rounded down and counted from 1 that is 2."""
    ranks = Ranks(torch.tensor([0, 3]), torch.tensor([0, 3, 4]), torch.tensor([0, 1, 1]))
    found = summarise(ranks)
    assert found["i2t_median"] == 2 and found["t2i_median"] == 4


@pytest.mark.parametrize("value", [0.0, float("nan")])
def test_a_model_that_tells_nothing_apart_finds_nothing(value: float) -> None:
    """Ties count against the model, and so does NaN; with 20 images no cutoff is reached."""
    owner = torch.arange(20)
    found = recall(torch.full((20, 20), value), owner)
    assert found["rsum"] == 0 and found["i2t_median"] == 20


def test_scores_below_zero_count() -> None:
    assert recall(torch.eye(12) - 5, torch.arange(12))["rsum"] == 600


def test_any_positive_counts() -> None:
    scores = torch.tensor([[0.9, 0.8, 0.1]])
    assert best_ranks(scores, torch.tensor([[False, True, True]])).tolist() == [1]


def test_folds_are_averaged_and_independent() -> None:
    torch.manual_seed(0)
    owner = torch.arange(10).repeat_interleave(2)
    scores = torch.randn(10, 20)
    folds = [recall(scores[2 * f : 2 * f + 2, 4 * f : 4 * f + 4], torch.tensor([0, 0, 1, 1])) for f in range(5)]
    found = fold_recall(scores, owner)
    for name in ("i2t_r1", "rsum", "t2i_median"):
        assert found[name] == pytest.approx(sum(fold[name] for fold in folds) / 5)
    with pytest.raises(InputError, match="too few for 5 folds"):
        fold_recall(scores[:4, :8], owner[:8])


def test_folds_have_a_thousand_images_however_large_the_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """With folds of 2, from 10 images on: 15 images make 7 folds of 2, not 5 of 3, and 9 make none."""
    monkeypatch.setattr("tellapart.metrics.retrieval.recall.FOLD_SIZE", 2)
    monkeypatch.setattr("tellapart.metrics.retrieval.recall.FOLD_IMAGES", 10)
    torch.manual_seed(0)
    scores, owner = torch.randn(15, 15), torch.randperm(15)
    found = thousand_folds(scores, owner)
    kept = owner < 14
    expected = fold_recall(scores[:14, kept], owner[kept], folds=7)
    assert found == {f"1k_{name}": value for name, value in expected.items()}
    assert thousand_folds(scores[:9, owner < 9], owner[owner < 9]) == {}


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_r_precision_against_sorting(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(6, 9, generator=generator)
    positive = torch.rand(6, 9, generator=generator) > 0.6
    values = []
    for row, right in zip(scores, positive):
        count = int(right.sum())
        if count:
            top = sorted(range(9), key=lambda c: -float(row[c]))[:count]
            values.append(sum(bool(right[c]) for c in top) / count)
    assert r_precision(scores, positive) == pytest.approx(sum(values) / max(len(values), 1))


def test_r_precision_by_hand() -> None:
    """Two right answers; among the first two stands one of them: 1/2. No query with a right answer: 0."""
    scores = torch.tensor([[0.9, 0.8, 0.7]])
    assert r_precision(scores, torch.tensor([[True, False, True]])) == 0.5
    assert r_precision(scores, torch.zeros(1, 3, dtype=torch.bool)) == 0.0
    assert own_captions(torch.tensor([1, 0]), 2).tolist() == [[False, True], [True, False]]


def test_bad_shapes_are_rejected() -> None:
    with pytest.raises(InputError, match="5 captions"):
        recall(torch.zeros(2, 4), torch.zeros(5, dtype=torch.long))
    with pytest.raises(InputError, match="no caption"):
        recall(torch.zeros(3, 2), torch.tensor([0, 1]))


def test_nan_counts_against_r_precision() -> None:
    """A sort puts NaN first: a model that scores its own captions with NaN must not be perfect, nor one that scores all
    so."""
    positive = torch.tensor([[True, True, False], [False, False, True]])
    worst = (1 / 2 + 0) / 2  # two of three answers are right: one of them is second even behind the wrong one
    assert r_precision(torch.full((2, 3), torch.nan), positive) == pytest.approx(worst)
    own = torch.tensor([[torch.nan, 0.9, 0.1], [0.3, 0.2, torch.nan]])
    assert r_precision(own, positive) == pytest.approx((1 / 2 + 0) / 2)
    wrong = torch.tensor([[0.9, 0.8, torch.nan], [torch.nan, 0.1, 0.7]])
    assert r_precision(wrong, positive) == pytest.approx((1 / 2 + 0) / 2)
