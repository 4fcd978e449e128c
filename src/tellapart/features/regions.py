"""Boxes of an image, features pooled inside them from a feature map, and boxes cropped from the image.

Boxes are detections (best first, filled up with fixed boxes if there are too few) or fixed boxes alone. All boxes are
x1 y1 x2 y2 in fractions of width and height.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tellapart.data.pack_types import Detections

SAMPLES = 14
"""Sample points per side of a box: two per cell of a 7x7 map if the box is the whole image."""

OVERSAMPLING = 2
"""Samples per side of each pixel of a cropped region."""

CONTEXT = 1.2
"""Side of a crop relative to its box."""

FIXED_GRIDS = ((1, 1), (2, 2), (3, 3), (4, 4), (2, 3), (5, 5), (6, 6), (7, 7), (8, 8))
"""Rows and columns of the grids, coarse to fine; the first five have exactly 36 boxes."""


@dataclass(frozen=True)
class Regions:
    """The boxes of one image, best first. Label -1 and score 0 mark a fixed box."""

    boxes: np.ndarray  # [R, 4] float32
    scores: np.ndarray  # [R] float32
    labels: np.ndarray  # [R] int32


def grid_boxes(rows: int, columns: int) -> np.ndarray:
    """Boxes of the cells of a regular grid, row by row [rows * columns, 4]."""
    top, left = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    edges = np.stack([left / columns, top / rows, (left + 1) / columns, (top + 1) / rows], -1)
    return edges.reshape(-1, 4).astype(np.float32)


def fixed_boxes(count: int) -> np.ndarray:
    """The first `count` cells of finer and finer grids [count, 4]: the whole image, its quarters, ninths, …"""
    cells = np.concatenate([grid_boxes(rows, columns) for rows, columns in FIXED_GRIDS])
    if count > len(cells):
        raise ValueError(f"at most {len(cells)} fixed boxes can be made, not {count}")
    return cells[:count]


def choose_regions(found: Detections | None, count: int, label_ids: dict[str, int]) -> Regions:
    """The `count` best detections of an image, then fixed boxes up to `count`."""
    kept = 0 if found is None else min(count, len(found.boxes))
    boxes = fixed_boxes(count - kept)
    scores, labels = np.zeros(count, np.float32), np.full(count, -1, np.int32)
    if found is not None and kept:
        order = np.argsort(-np.asarray(found.scores, np.float64), kind="stable")[:kept]
        detected = np.clip(np.asarray(found.boxes, np.float32)[order], 0, 1)
        boxes = np.concatenate([detected, boxes])
        scores[:kept] = np.asarray(found.scores, np.float32)[order]
        labels[:kept] = [label_ids[found.labels[index]] for index in order]
    return Regions(boxes, scores, labels)


def mirrored(boxes: np.ndarray) -> np.ndarray:
    """The boxes in the mirror image."""
    return np.stack([1 - boxes[..., 2], boxes[..., 1], 1 - boxes[..., 0], boxes[..., 3]], -1)


def pool_regions(feature_map: Tensor, boxes: Tensor, samples: int = SAMPLES) -> Tensor:
    """Mean of bilinear samples inside each box (RoIAlign's sampling, one bin): [I, D, H, W], [I, R, 4] -> [I, R, D].

    A bilinear sample weighs a map cell by the product of two hat functions, one along x and one along y, so the mean
    over a box's sample grid is one weight per cell: [R, H W] times [H W, D], one matrix product per image. Samples
    beyond the outermost cell centres take the border cell's value.
    """
    height, width = feature_map.shape[2:]
    across = _sample_weights(boxes[..., 0], boxes[..., 2], width, samples)  # [I, R, W]
    down = _sample_weights(boxes[..., 1], boxes[..., 3], height, samples)  # [I, R, H]
    weights = (down.unsqueeze(-1) * across.unsqueeze(-2)).flatten(2)  # [I, R, H W]
    return torch.bmm(weights.to(feature_map.dtype), feature_map.flatten(2).transpose(1, 2))


def cut_regions(pixels: Tensor, boxes: Tensor, size: int, context: float = CONTEXT) -> Tensor:
    """Crop each box with some context as a square: [I, 3, S, S], [I, R, 4] -> [I R, 3, size, size].

    Beyond the image the colours of its edge repeat. Each pixel is the mean of OVERSAMPLING x OVERSAMPLING samples, to
    avoid aliasing in large boxes.
    """
    fine = size * OVERSAMPLING
    count, regions = boxes.shape[:2]
    centre, half = (boxes[..., :2] + boxes[..., 2:]) / 2, (boxes[..., 2:] - boxes[..., :2]) / 2 * context
    steps = (torch.arange(fine, device=boxes.device, dtype=boxes.dtype) + 0.5) / fine * 2 - 1
    places = (centre.unsqueeze(2) + half.unsqueeze(2) * steps.view(-1, 1)) * 2 - 1  # [I, R, fine, 2] x and y, -1 … 1
    across = places[..., 0].unsqueeze(2).expand(-1, -1, fine, -1)  # [I, R, fine, fine]
    down = places[..., 1].unsqueeze(3).expand_as(across)
    grid = torch.stack([across, down], -1).flatten(1, 2)  # [I, R fine, fine, 2]
    cut = functional.grid_sample(pixels.to(grid.dtype), grid, padding_mode="border", align_corners=False)
    cut = functional.avg_pool2d(cut, OVERSAMPLING)  # [I, 3, R size, size]
    return cut.view(count, 3, regions, size, size).transpose(1, 2).flatten(0, 1)


def _sample_weights(first: Tensor, last: Tensor, cells: int, samples: int) -> Tensor:
    """Weight of each cell along one side in the mean over a box's samples: [I, R] -> [I, R, cells]."""
    steps = (torch.arange(samples, device=first.device, dtype=first.dtype) + 0.5) / samples
    places = (first.unsqueeze(-1) + (last - first).unsqueeze(-1) * steps) * cells - 0.5  # [I, R, samples]
    centres = torch.arange(cells, device=first.device)
    distance = (places.clamp(0, cells - 1).unsqueeze(-1) - centres).abs()  # [I, R, samples, cells]
    return (1 - distance).clamp(min=0).mean(-2)
