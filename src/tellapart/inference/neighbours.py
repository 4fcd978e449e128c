"""The images most similar to an image, with their features."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.types import Images
from tellapart.inference.distinctive import NO_OTHERS
from tellapart.inference.feature_spec import FeatureSpec

SAME_WITHIN = 1e-3
"""Copies of one photo differ by the rounding of their features, about 1e-5; two shots of one scene by far more."""


def nearest(images: Images, among: Images, count: int, same_within: float = SAME_WITHIN) -> Tensor:
    """The `count` rows of `among` most similar to each image [I, count], by cosine of pooled features.

    An image of `among` whose pooled features, at length one, lie within `same_within` is the image itself or a copy,
    and is left out. Fewer rows are returned if some image has fewer neighbours.
    """
    ours = functional.normalize(images.pooled(), dim=1)
    theirs = functional.normalize(among.pooled(), dim=1)
    similarity = ours @ theirs.T  # [I, A]
    same = torch.cdist(ours, theirs, compute_mode="donot_use_mm_for_euclid_dist") < same_within
    order = similarity.masked_fill(same, -torch.inf).sort(dim=1, descending=True)
    fewest = int((~same).sum(1).min())
    return order.indices[:, : min(count, fewest)]


def joined(images: Sequence[Images]) -> Images:
    """Features of several images with equally many rows, as one [I, R, D]."""
    boxes = [one.boxes for one in images if one.boxes is not None]
    return Images(
        torch.cat([one.features for one in images]),
        torch.cat([one.mask for one in images]),
        torch.cat(boxes) if len(boxes) == len(images) else None,
    )


class StoredFeatures:
    """Feature rows of images in a temporary file: 207 kB per image for a grid of 9 x 9 cells."""

    def __init__(self, images: int, spec: FeatureSpec, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)
        with tempfile.TemporaryFile(prefix="tellapart-") as file:  # the map keeps it open, and frees it with itself
            self.values = np.memmap(file, np.float16, "w+", shape=(max(1, images), spec.rows, spec.width))
        self.boxes = None if spec.kind == "vector" else torch.zeros(images, spec.rows, 4)

    def add(self, places: Sequence[int], images: Images) -> None:
        """Keep the features of the images at these places."""
        self.values[list(places)] = images.features.half().cpu().numpy()
        if self.boxes is not None and images.boxes is not None:
            self.boxes[list(places)] = images.boxes.cpu()

    def images(self, rows: np.ndarray) -> Images:
        """All features of these images [I, R, D]."""
        features = torch.from_numpy(np.asarray(self.values[rows])).to(self.device).float()
        mask = torch.ones(features.shape[:2], dtype=torch.bool, device=self.device)
        boxes = None if self.boxes is None else self.boxes[torch.from_numpy(rows)].to(self.device)
        return Images(features, mask, boxes)


class KeptInputs:
    """The inputs of a chat model for each image, which differ in shape, in memory."""

    def __init__(self) -> None:
        self.kept: dict[int, Images] = {}

    def add(self, places: Sequence[int], images: Images) -> None:
        """Keep the inputs of the images at these places."""
        for row, place in enumerate(places):
            self.kept[place] = images.select(torch.tensor([row], device=images.features.device))

    def images(self, rows: np.ndarray) -> Images:
        """The inputs of one image."""
        (row,) = rows.tolist()
        return self.kept[row]


def stored_features(images: int, spec: FeatureSpec, device: torch.device | str) -> StoredFeatures | KeptInputs:
    """A place for the features of images, or for inputs that are no features."""
    return StoredFeatures(images, spec, device) if spec.width else KeptInputs()


class NeighbourFinder:
    """Images by number: one vector each in memory to find neighbours by, and the faults of unreadable ones."""

    def __init__(self, images: int, width: int, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)
        self.vectors = torch.zeros(images, width)
        self.faults: dict[int, str] = {}
        self.readable = np.zeros(images, bool)

    def add(self, places: Sequence[int], vectors: Tensor, faults: Mapping[int, str] | None = None) -> None:
        """Keep the vectors [I, D] of the images at these places."""
        self.faults |= faults or {}
        if len(places):
            self.vectors[list(places)] = vectors.float().cpu()
            self.readable[list(places)] = True

    def around(self, rows: np.ndarray, candidates: np.ndarray, count: int) -> np.ndarray:
        """The `count` candidates most similar to each of these images: rows [I, M], most similar first."""
        if not len(candidates):
            raise InputError(NO_OTHERS)
        found = nearest(self._vectors(rows), self._vectors(candidates), count).cpu().numpy()
        if not found.shape[1]:  # all others are copies of an image
            raise InputError(NO_OTHERS)
        return np.asarray(candidates[found])

    def _vectors(self, rows: np.ndarray) -> Images:
        vectors = self.vectors[torch.from_numpy(rows)].to(self.device).unsqueeze(1)  # [I, 1, D]
        return Images(vectors, torch.ones(vectors.shape[:2], dtype=torch.bool, device=self.device))


def numbered(found: np.ndarray) -> tuple[np.ndarray, Tensor]:
    """The rows that occur in [I, M], each once, and [I, M] places among them."""
    used, places = np.unique(found, return_inverse=True)
    return used, torch.from_numpy(places.reshape(found.shape))
