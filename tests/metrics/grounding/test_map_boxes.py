"""Boxes of attention maps, against a flood fill written as a loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.metrics.grounding.map_boxes import inside_any, map_boxes, points


def filled(weights: np.ndarray, share: float) -> list[float]:
    """The box of the cells that can be reached from the strongest one, by a stack."""
    side = len(weights)
    start = divmod(int(weights.argmax()), side)
    reached, waiting = {start}, [start]
    while waiting:
        row, column = waiting.pop()
        for cell in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            inside = 0 <= cell[0] < side and 0 <= cell[1] < side
            if inside and cell not in reached and weights[cell] >= share * weights.max():
                reached.add(cell)
                waiting.append(cell)
    rows, columns = [cell[0] for cell in reached], [cell[1] for cell in reached]
    return [min(columns) / side, min(rows) / side, (max(columns) + 1) / side, (max(rows) + 1) / side]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(0, 10_000), st.sampled_from([0.2, 0.5, 0.9, 1.0]))
def test_boxes_are_those_of_a_flood_fill(side: int, seed: int, share: float) -> None:
    maps = np.random.default_rng(seed).integers(0, 5, (3, side, side)).astype(float)
    assert map_boxes(maps, share).tolist() == [pytest.approx(filled(one, share)) for one in maps]


def test_a_map_of_equal_weights_is_the_whole_image() -> None:
    assert map_boxes(np.ones((1, 3, 3))).tolist() == [[0, 0, 1, 1]]
    assert map_boxes(np.zeros((1, 2, 2))).tolist() == [[0, 0, 1, 1]], "no attention at all"


def test_points_are_the_middles_of_cells() -> None:
    maps = np.zeros((2, 4, 4))
    maps[0, 1, 3], maps[1, 0, 0] = 1, 1
    assert points(maps).tolist() == [[0.875, 0.375], [0.125, 0.125]]
    boxes = np.array([[[0.5, 0, 1, 0.5], [0, 0, 0, 0]], [[0.5, 0, 1, 0.5], [0, 0, 0.2, 0.2]]])
    mask = np.array([[True, False], [True, False]])
    assert inside_any(points(maps), boxes, mask).tolist() == [True, False]
    assert inside_any(points(maps), boxes, np.ones_like(mask)).tolist() == [True, True]
