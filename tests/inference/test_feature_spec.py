"""Which features serve which model, and a caption among given images."""

from dataclasses import replace

import pytest
import torch

from tellapart.core.types import Images
from tellapart.inference.feature_spec import FeatureSpec, as_needed, serves
from tellapart.inference.neighbours import joined, nearest

GRID = FeatureSpec("efficientnet-lite0", "grid", "squash", 49, 1280, preprocessing="size 224")
VECTOR = replace(GRID, kind="vector", rows=1)


@pytest.mark.parametrize(
    ("given", "needed", "expected"),
    [
        (GRID, GRID, True),
        (GRID, VECTOR, True),
        (VECTOR, GRID, False),
        (GRID, replace(VECTOR, resize="crop"), False),
        (GRID, replace(VECTOR, preprocessing="size 240"), False),
        (GRID, replace(VECTOR, preprocessing=""), True),
        (replace(GRID, backbone="dino"), replace(VECTOR, backbone="dino"), False),
        (replace(GRID, kind="regions"), VECTOR, False),
    ],
)
def test_a_grid_serves_a_vector_model_of_the_same_backbone(
    given: FeatureSpec, needed: FeatureSpec, expected: bool
) -> None:
    assert serves(given, needed) is expected


def images(*rows: list[float]) -> Images:
    features = torch.tensor(rows).unsqueeze(0)
    return Images(features, torch.ones(1, len(rows), dtype=torch.bool), torch.zeros(1, len(rows), 4))


def test_the_vector_is_the_mean_of_the_grid() -> None:
    grid = images([1.0, 0.0], [0.0, 1.0])
    assert as_needed(grid, GRID) is grid
    assert as_needed(grid, VECTOR).features.tolist() == [[[0.5, 0.5]]]
    assert as_needed(images([1.0, 0.0]), VECTOR).features.tolist() == [[[1.0, 0.0]]]


def test_joined_images_keep_their_boxes_and_find_neighbours() -> None:
    among = joined([images([1.0, 0.0]), images([0.9, 0.1]), images([0.0, 1.0])])
    assert among.boxes is not None and len(among) == len(among.boxes) == 3
    assert nearest(images([1.0, 0.0]), among, 2).tolist() == [[1, 2]]
    assert nearest(images([1.0, 0.0]), joined([images([1.0, 0.0])]), 2).shape == (1, 0)
