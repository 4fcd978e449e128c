"""Attention that follows what a matcher sees of each noun, on a grid worked by hand."""

import numpy as np
import pytest
import torch

from tellapart.inference.caption_attention import CaptionAttention
from tellapart.inference.word_regions import doubled, pointed, smoothed
from tellapart.models.matchers.dual_encoder import DualEncoderModel
from tellapart.models.matchers.word_gru import WordGru

SIDE = 3


def grid() -> np.ndarray:
    steps = np.arange(SIDE) / SIDE
    return np.asarray([[x, y, x + 1 / SIDE, y + 1 / SIDE] for y in steps for x in steps])


def test_a_noun_is_where_the_matcher_sees_it() -> None:
    """The captioner attends to the top left, the matcher sees the cat at the right of the middle row."""
    weights = np.zeros((2, 9))
    weights[:, 0] = 1
    similarity = np.zeros((2, 9))
    similarity[:, 5] = 1
    found = pointed(CaptionAttention(("a", "cat"), weights, grid(), (False, True)), similarity)
    assert found.weights.shape == (2, 36) and found.weights.sum(1) == pytest.approx([1, 1])
    left, top, right, bottom = found.box_of(1)
    assert (left >= 2 / 3 - 1e-9 and right <= 1 + 1e-9) and (top >= 1 / 3 - 1e-9 and bottom <= 2 / 3 + 1e-9)
    assert (right - left, bottom - top) == pytest.approx((1 / 6, 1 / 6))
    assert found.weights[0].nonzero()[0].tolist() == [0, 1, 6, 7]  # other words keep the captioner's attention


def test_the_captioners_attention_decides_between_equal_places() -> None:
    weights, similarity = np.zeros((1, 9)), np.zeros((1, 9))
    similarity[0, [0, 8]] = 1
    weights[0, 8] = 1
    found = pointed(CaptionAttention(("cat",), weights, grid(), (True,)), similarity)
    assert found.box_of(0)[0] >= 2 / 3 - 1e-9 and found.box_of(0)[1] >= 2 / 3 - 1e-9


def test_a_flat_map_keeps_the_attention() -> None:
    weights = np.full((1, 9), 1 / 9)
    found = pointed(CaptionAttention(("cat",), weights, grid(), (True,)), np.ones((1, 9)))
    assert found.weights[0] == pytest.approx(1 / 36)


def test_boxes_are_cut_into_quarters_in_reading_order() -> None:
    found = pointed(CaptionAttention(("cat",), np.ones((1, 9)) / 9, grid(), (True,)), np.ones((1, 9))).boxes
    expected = [[x / 6, y / 6, (x + 1) / 6, (y + 1) / 6] for y in range(6) for x in range(6)]
    assert found == pytest.approx(np.asarray(expected))


def test_smoothing_and_doubling_against_loops() -> None:
    maps = np.random.default_rng(0).normal(size=(2, 3, 4))
    wide = np.pad(maps, ((0, 0), (1, 1), (1, 1)), mode="edge")
    kernel = np.outer((1, 2, 1), (1, 2, 1)) / 16
    for row in range(3):
        for column in range(4):
            expected = (wide[1, row : row + 3, column : column + 3] * kernel).sum()
            assert smoothed(maps)[1, row, column] == pytest.approx(expected)
    assert doubled(maps)[1, 0, 0] == pytest.approx(maps[1, 0, 0])
    assert doubled(maps)[1, 1, 2] == pytest.approx(
        0.75 * (0.25 * maps[1, 0, 0] + 0.75 * maps[1, 0, 1]) + 0.25 * (0.25 * maps[1, 1, 0] + 0.75 * maps[1, 1, 1])
    )


def test_cells_add_up_to_the_image() -> None:
    """With equal attention over cells, the mean of their vectors is the image's, before its length and bias."""
    torch.manual_seed(0)
    model = DualEncoderModel(6, WordGru(9, 4, 5), 8).eval()
    cells = torch.randn(2, 5, 6)
    pooled = model.pool(cells, torch.ones(2, 5, dtype=torch.bool))  # attention starts at zero: equal
    assert torch.allclose(model.cell_vectors(cells).mean(1), model.image(pooled) - model.image.bias, atol=1e-5)
