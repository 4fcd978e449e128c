"""From a backbone's output to feature rows: one vector, a grid of cells, or regions, with their boxes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from tellapart.features.backbones import Backbone
from tellapart.features.regions import Regions, cut_regions, grid_boxes, mirrored, pool_regions
from tellapart.features.store_writer import Rows

LABEL_SCALE = 20.0
"""Value of a label with score 1: nearly as large as all features of efficientnet-lite0 together, so that a word finds
what a detector has labelled."""

PIECES = {"cpu": 16, "cuda": 1024}
"""Cropped regions per batch: few enough for a core's cache, many for an accelerator."""


@dataclass(frozen=True)
class Seen:
    """A backbone's output for a few images."""

    feature_map: Tensor  # [I, D, H, W]
    pooled: Tensor  # [I, D]
    windows: np.ndarray  # [I, 4] the part of each image that the backbone was shown
    flipped: bool = False
    regions: list[Regions] | None = None  # [I]; needed for region rows
    alone: Tensor | None = None  # [I, R, D] features of cropped regions; None: pooled from the map
    cells: bool = False
    """Append the cells of the map to the regions."""
    names: int = 0
    """Number of detector labels to append to each region; 0: none."""

    def as_float(self) -> Seen:
        """The same in float32: rows are averaged and stored without further rounding."""
        alone = None if self.alone is None else self.alone.float()
        return replace(self, feature_map=self.feature_map.float(), pooled=self.pooled.float(), alone=alone)


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
    """Run the backbone on images [I, 3, S, S] and, if `cut` gives a size, on each of their regions."""
    feature_map, pooled = backbone(pixels)
    alone = None
    if regions and cut:
        boxes = torch.from_numpy(boxes_within(regions, windows, flipped)).to(pixels.device)
        alone = torch.stack([_crop_features(backbone, one, places, cut) for one, places in zip(pixels, boxes)])
    return Seen(
        feature_map, pooled, windows=windows, flipped=flipped, regions=regions, alone=alone, cells=cells, names=names
    )


def _crop_features(backbone: Backbone, pixels: Tensor, boxes: Tensor, size: int) -> Tensor:
    """Pooled features [R, D] of each box [R, 4] of one image [3, S, S], cropped."""
    parts = torch.split(boxes, PIECES.get(pixels.device.type, PIECES["cuda"]))
    pieces = (cut_regions(pixels[None], part[None], size) for part in parts)
    return torch.cat([backbone.pooled(piece.contiguous(memory_format=torch.channels_last)) for piece in pieces])


def vector_rows(seen: Seen) -> Rows:
    """One row per image: the pooled vector."""
    return Rows(_stored(seen.pooled))


def grid_rows(seen: Seen) -> Rows:
    """One row per cell of the map, with its box."""
    values = seen.feature_map.flatten(2).transpose(1, 2)  # [I, H W, D]
    cells = grid_boxes(*seen.feature_map.shape[2:])[None]  # [1, H W, 4]
    boxes = _from_window(cells, mirrored(seen.windows) if seen.flipped else seen.windows)
    return Rows(_stored(values.flatten(0, 1)), boxes.reshape(-1, 4))


def region_rows(seen: Seen) -> Rows:
    """One row per region, with its box, score and label."""
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
        labelled = label_columns(rows.scores, rows.labels, seen.names)
        rows = replace(rows, values=np.concatenate([rows.values, labelled], 1))
    return rows


def _followed_by(regions: Rows, cells: Rows, images: int) -> Rows:
    """The regions of each image, then its cells, which have no label."""
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
    """Boxes in fractions of the backbone's window, or of its mirror image [I, R, 4]."""
    inside = _into_window(boxes_of(regions, False), windows)
    return mirrored(inside) if flipped else inside


def label_columns(scores: np.ndarray, labels: np.ndarray, names: int) -> np.ndarray:
    """The detector's label of each region [N, names]: its score times LABEL_SCALE at the label, zeros elsewhere."""
    columns = np.zeros((len(labels), names), np.float16)
    known = labels >= 0
    columns[known, labels[known]] = LABEL_SCALE * scores[known]
    return columns


ROW_MAKERS: dict[str, Callable[[Seen], Rows]] = {"vector": vector_rows, "grid": grid_rows, "regions": region_rows}


def _stored(values: Tensor) -> np.ndarray:
    array: np.ndarray = values.to(torch.float16).cpu().numpy()
    return array


def _from_window(boxes: np.ndarray, windows: np.ndarray) -> np.ndarray:
    """Fractions of the window as fractions of the image [I, R, 4]."""
    corner, extent = np.tile(windows[:, None, :2], 2), np.tile(windows[:, None, 2:] - windows[:, None, :2], 2)
    outside: np.ndarray = corner + boxes * extent
    return outside


def _into_window(boxes: np.ndarray, windows: np.ndarray) -> np.ndarray:
    """Fractions of the image as fractions of the window, clipped to it [I, R, 4]."""
    corner, extent = np.tile(windows[:, None, :2], 2), np.tile(windows[:, None, 2:] - windows[:, None, :2], 2)
    inside: np.ndarray = np.clip((boxes - corner) / extent, 0, 1)
    return inside
