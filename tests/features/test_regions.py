import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.data.pack_types import Detections
from tellapart.features.regions import choose_regions, cut_regions, fixed_boxes, grid_boxes, mirrored, pool_regions


def pool_by_loop(feature_map: torch.Tensor, boxes: torch.Tensor, samples: int) -> torch.Tensor:
    """Each sample by torch's own bilinear sampling, one box after another."""
    rows = []
    for image, image_boxes in zip(feature_map, boxes):
        for x1, y1, x2, y2 in image_boxes.tolist():
            steps = (torch.arange(samples, dtype=torch.float64) + 0.5) / samples
            x, y = x1 + (x2 - x1) * steps, y1 + (y2 - y1) * steps
            grid = torch.stack(torch.meshgrid(y, x, indexing="ij")[::-1], -1) * 2 - 1  # [s, s, (x, y)]
            sampled = F.grid_sample(image[None], grid[None], padding_mode="border", align_corners=False)
            rows.append(sampled.mean((0, 2, 3)))
    return torch.stack(rows).unflatten(0, boxes.shape[:2])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 9), st.integers(1, 6))
def test_pooling_equals_the_loop(seed: int, height: int, width: int, samples: int) -> None:
    generator = torch.manual_seed(seed)
    feature_map = torch.randn(2, 3, height, width, generator=generator, dtype=torch.float64)
    corners = torch.rand(2, 4, 2, 2, generator=generator, dtype=torch.float64).sort(2).values
    boxes = corners.flatten(2)  # x1 y1 x2 y2
    torch.testing.assert_close(pool_regions(feature_map, boxes, samples), pool_by_loop(feature_map, boxes, samples))


def test_pooling_by_hand() -> None:
    """A 1x2 map of 0 and 8, cell centres at x = 1/4 and 3/4.

    Left half, two samples a side: x = 1/8 lies before the first centre and takes 0; x = 3/8 lies a quarter of the way
    to the second and takes 2; the mean is 1. The whole image, by symmetry, is 4.
    """
    feature_map = torch.tensor([[[[0.0, 8.0]]]])
    boxes = torch.tensor([[[0.0, 0.0, 0.5, 1.0], [0.0, 0.0, 1.0, 1.0]]])
    assert pool_regions(feature_map, boxes, samples=2).flatten().tolist() == [1.0, 4.0]


def test_an_empty_box_takes_the_value_at_its_point() -> None:
    feature_map = torch.arange(4.0).view(1, 1, 2, 2)
    assert pool_regions(feature_map, torch.tensor([[[0.75, 0.25, 0.75, 0.25]]])).item() == pytest.approx(1.0)


def test_grid_boxes_cover_the_image_in_map_order() -> None:
    assert grid_boxes(1, 2).tolist() == [[0, 0, 0.5, 1], [0.5, 0, 1, 1]]
    areas = (grid_boxes(7, 7)[:, 2] - grid_boxes(7, 7)[:, 0]) * (grid_boxes(7, 7)[:, 3] - grid_boxes(7, 7)[:, 1])
    assert areas.sum() == pytest.approx(1)


def test_thirty_six_fixed_boxes_are_five_whole_grids() -> None:
    boxes = fixed_boxes(36)
    assert boxes[0].tolist() == [0, 0, 1, 1]
    assert len(np.unique(boxes, axis=0)) == 36
    with pytest.raises(ValueError, match="at most"):
        fixed_boxes(10**4)


def test_the_best_detections_come_first_and_fixed_boxes_fill_up() -> None:
    found = Detections(0, ((0.0, 0.0, 0.5, 0.5), (0.2, 0.2, 1.2, 0.9)), (0.3, 0.9), ("cat", "dog"))
    regions = choose_regions(found, 4, {"cat": 0, "dog": 1})
    assert regions.labels.tolist() == [1, 0, -1, -1]
    np.testing.assert_allclose(regions.scores, [0.9, 0.3, 0, 0])
    np.testing.assert_allclose(regions.boxes[0], [0.2, 0.2, 1.0, 0.9])  # cut at the edge
    np.testing.assert_allclose(regions.boxes[2:], fixed_boxes(2))
    assert choose_regions(found, 1, {"cat": 0, "dog": 1}).labels.tolist() == [1]
    assert choose_regions(None, 3, {}).labels.tolist() == [-1, -1, -1]


def test_mirroring_twice_is_nothing() -> None:
    boxes = np.asarray([[0.1, 0.2, 0.4, 0.9]])
    np.testing.assert_allclose(mirrored(boxes), [[0.6, 0.2, 0.9, 0.9]])
    np.testing.assert_allclose(mirrored(mirrored(boxes)), boxes)


def test_a_image_cut_out_larger_is_the_image_larger() -> None:
    """Twice as large, each pixel is the mean of four bilinear samples: what antialiased resizing gives too."""
    pixels = torch.rand(2, 3, 8, 8)
    boxes = torch.tensor([[[0.0, 0.0, 1.0, 1.0]]]).expand(2, 1, 4)
    cut = cut_regions(pixels, boxes, 16, context=1.0)
    fine = torch.nn.functional.interpolate(pixels, scale_factor=4, mode="bilinear")
    torch.testing.assert_close(cut, torch.nn.functional.avg_pool2d(fine, 2))


def test_a_box_cut_out_is_that_part() -> None:
    """Brightness that rises evenly to the right: each pixel of the right half's left half is at its own place."""
    pixels = (torch.arange(16.0) + 0.5).expand(1, 3, 16, 16)
    cut = cut_regions(pixels, torch.tensor([[[0.5, 0.25, 0.75, 0.75], [0.25, 0.0, 0.75, 1.0]]]), 2, context=1.0)
    assert cut.shape == (2, 3, 2, 2)
    torch.testing.assert_close(cut[0, 0], torch.tensor([[9.0, 11.0], [9.0, 11.0]]))
    torch.testing.assert_close(cut[1, 0], torch.tensor([[6.0, 10.0], [6.0, 10.0]]))


def test_a_small_copy_is_no_sample_here_and_there() -> None:
    """Stripes one pixel wide, half as large, are grey."""
    pixels = torch.arange(16).remainder(2).float().expand(1, 3, 16, 16)
    cut = cut_regions(pixels, torch.tensor([[[0.0, 0.0, 1.0, 1.0]]]), 8, context=1.0)
    torch.testing.assert_close(cut, torch.full((1, 3, 8, 8), 0.5))


def test_beyond_the_edge_are_the_edges_colours() -> None:
    pixels = torch.tensor([[0.0, 1.0], [2.0, 3.0]]).expand(1, 3, 2, 2)
    cut = cut_regions(pixels, torch.tensor([[[0.0, 0.0, 1.0, 1.0]]]), 8, context=4.0)[0, 0]
    assert cut[0, 0] == 0.0 and cut[0, -1] == 1.0 and cut[-1, 0] == 2.0 and cut[-1, -1] == 3.0
