"""From what a backbone saw to rows of features: one vector, a grid of cells, or regions, with their boxes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from tellapart.features.backbones import Backbone
from tellapart.features.regions import Regions, cut_regions, grid_boxes, mirrored, pool_regions
from tellapart.features.store_writer import Rows

STRENGTH = 20.0
"""What a sure name counts: not much less than all features of efficientnet-lite0 together, so that a word finds what a
detector has named."""

PIECES = {"cpu": 16, "cuda": 1024}
"""Regions cut out and looked at together: few enough for a core's cache, many for an accelerator."""


@dataclass(frozen=True)
class Seen:
    """What the backbone made of a few images."""

    feature_map: Tensor  # [I, D, H, W]
    pooled: Tensor  # [I, D]
    windows: np.ndarray  # [I, 4] the part of each image that was looked at
    flipped: bool = False
    regions: list[Regions] | None = None  # [I]; needed where regions are wanted
    alone: Tensor | None = None  # [I, R, D] each region looked at by itself; None: pooled from the map
    cells: bool = False
    """Regions are followed by the cells of the image's map."""
    names: int = 0
    """How many names a detector may give: with some, regions also say what they were called."""


def see(
    backbone: Backbone,
    pixels: Tensor,
    windows: np.ndarray,
    flipped: bool = False,
    regions: list[Regions] | None = None,
    cut: int = 0,
    cells: bool = False,
    names: int = 0,
) -> Seen:
    """Look at images [I, 3, S, S] and, where `cut` says how large, at each of their regions by itself."""
    feature_map, pooled = backbone(pixels)
    alone = None
    if regions and cut:
        boxes = torch.from_numpy(boxes_within(regions, windows, flipped)).to(pixels.device)
        alone = torch.stack([_looks(backbone, one, places, cut) for one, places in zip(pixels, boxes)])
    return Seen(feature_map, pooled, windows, flipped, regions, alone, cells, names)


def _looks(backbone: Backbone, pixels: Tensor, boxes: Tensor, size: int) -> Tensor:
    """What the backbone makes of each box [R, 4] of one image [3, S, S] by itself [R, D]."""
    parts = boxes.split(PIECES.get(pixels.device.type, PIECES["cuda"]))
    pieces = (cut_regions(pixels[None], part[None], size) for part in parts)
    return torch.cat([backbone.pooled(piece.contiguous(memory_format=torch.channels_last)) for piece in pieces])


def vector_rows(seen: Seen) -> Rows:
    return Rows(_stored(seen.pooled))


def grid_rows(seen: Seen) -> Rows:
    values = seen.feature_map.flatten(2).transpose(1, 2)  # [I, H W, D]
    cells = grid_boxes(*seen.feature_map.shape[2:])[None]  # [1, H W, 4]
    boxes = _from_window(cells, mirrored(seen.windows) if seen.flipped else seen.windows)
    return Rows(_stored(values.flatten(0, 1)), boxes.reshape(-1, 4))


def region_rows(seen: Seen) -> Rows:
    assert seen.regions is not None
    boxes = boxes_of(seen.regions, seen.flipped)
    values = seen.alone
    if values is None:
        inside = boxes_within(seen.regions, seen.windows, seen.flipped)
        values = pool_regions(seen.feature_map, torch.from_numpy(inside).to(seen.feature_map.device))  # [I, R, D]
    stored = _stored(values.flatten(0, 1))
    scores = np.concatenate([regions.scores for regions in seen.regions])
    labels = np.concatenate([regions.labels for regions in seen.regions])
    rows = Rows(stored, boxes.reshape(-1, 4), scores, labels)
    if seen.cells:
        rows = _followed_by(rows, grid_rows(seen), len(boxes))
    if seen.names:
        assert rows.scores is not None and rows.labels is not None
        told = called(rows.scores, rows.labels, seen.names)
        rows = replace(rows, values=np.concatenate([rows.values, told], 1))
    return rows


def _followed_by(regions: Rows, cells: Rows, images: int) -> Rows:
    """Each image's regions, then its cells, which nobody has named."""
    assert regions.boxes is not None and cells.boxes is not None
    assert regions.scores is not None and regions.labels is not None

    def joined(first: np.ndarray, then: np.ndarray) -> np.ndarray:
        shape = (images, -1, *first.shape[1:])
        return np.concatenate([first.reshape(shape), then.reshape(shape)], 1).reshape(-1, *first.shape[1:])

    count = len(cells.values)
    return Rows(
        joined(regions.values, cells.values),
        joined(regions.boxes, cells.boxes.astype(regions.boxes.dtype)),
        joined(regions.scores, np.zeros(count, regions.scores.dtype)),
        joined(regions.labels, np.full(count, -1, regions.labels.dtype)),
    )


def boxes_of(regions: list[Regions], flipped: bool) -> np.ndarray:
    """Boxes in fractions of the image, or of its mirror image [I, R, 4]."""
    boxes = np.stack([one.boxes for one in regions])
    return mirrored(boxes) if flipped else boxes


def boxes_within(regions: list[Regions], windows: np.ndarray, flipped: bool) -> np.ndarray:
    """Boxes in fractions of what the backbone saw, or of its mirror image [I, R, 4]."""
    inside = _into_window(boxes_of(regions, False), windows)
    return mirrored(inside) if flipped else inside


def called(scores: np.ndarray, labels: np.ndarray, names: int) -> np.ndarray:
    """What a detector called each region [N, names]: its score at the name's place, zeros where it called it nothing.

    Times STRENGTH, so that a name is not lost among a backbone's features.
    """
    told = np.zeros((len(labels), names), np.float16)
    known = labels >= 0
    told[known, labels[known]] = STRENGTH * scores[known]
    return told


ROW_MAKERS: dict[str, Callable[[Seen], Rows]] = {"vector": vector_rows, "grid": grid_rows, "regions": region_rows}


def _stored(values: Tensor) -> np.ndarray:
    return values.to(torch.float16).cpu().numpy()


def _from_window(boxes: np.ndarray, windows: np.ndarray) -> np.ndarray:
    """Fractions of what the backbone saw -> fractions of the image [I, R, 4]."""
    corner, extent = np.tile(windows[:, None, :2], 2), np.tile(windows[:, None, 2:] - windows[:, None, :2], 2)
    return corner + boxes * extent


def _into_window(boxes: np.ndarray, windows: np.ndarray) -> np.ndarray:
    """Fractions of the image -> fractions of what the backbone saw, cut at its edges [I, R, 4]."""
    corner, extent = np.tile(windows[:, None, :2], 2), np.tile(windows[:, None, 2:] - windows[:, None, :2], 2)
    return np.clip((boxes - corner) / extent, 0, 1)
