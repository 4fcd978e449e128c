"""The images most similar to an image, with their features."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.types import Images
from tellapart.inference.distinctive import NO_OTHERS
from tellapart.inference.feature_extractor import Extracted
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


class NeighbourFinder:
    """Features of a list of images: pooled vectors in memory to find neighbours by, all rows in a temporary file.

    Row i belongs to image i of the list; an image that could not be read has none. Memory holds a pooled vector (5 kB)
    and the boxes per image; a grid of features takes 125 kB on disk.
    """

    def __init__(self, images: int, spec: FeatureSpec, device: torch.device | str = "cpu") -> None:
        self.spec, self.device = spec, torch.device(device)
        with tempfile.TemporaryFile(prefix="tellapart-") as file:  # the map keeps it open, and frees it with itself
            self.values = np.memmap(file, np.float16, "w+", shape=(max(1, images), spec.rows, spec.width))
        self.pooled = torch.zeros(images, spec.width)
        self.boxes = None if spec.kind == "vector" else torch.zeros(images, spec.rows, 4)
        self.faults: dict[int, str] = {}
        self.readable = np.zeros(images, bool)

    def add(self, extracted: Extracted) -> None:
        """Keep the features of some images."""
        self.faults |= extracted.faults
        if not extracted.places:
            return
        self.values[extracted.places] = extracted.images.features.half().cpu().numpy()
        self.pooled[extracted.places] = extracted.images.pooled().cpu()
        if self.boxes is not None and extracted.images.boxes is not None:
            self.boxes[extracted.places] = extracted.images.boxes.cpu()
        self.readable[extracted.places] = True

    def images(self, rows: np.ndarray) -> Images:
        """All features of these images [I, R, D]."""
        features = torch.from_numpy(np.asarray(self.values[rows])).to(self.device).float()
        mask = torch.ones(features.shape[:2], dtype=torch.bool, device=self.device)
        boxes = None if self.boxes is None else self.boxes[torch.from_numpy(rows)].to(self.device)
        return Images(features, mask, boxes)

    def around(self, rows: np.ndarray, candidates: np.ndarray, count: int) -> tuple[Images, Tensor]:
        """The `count` candidates most similar to each of these images: the images that occur, and [I, count] rows."""
        if not len(candidates):
            raise InputError(NO_OTHERS)
        found = nearest(self._vectors(rows), self._vectors(candidates), count).cpu().numpy()  # [I, M]
        used, places = np.unique(found, return_inverse=True)
        return self.images(candidates[used]), torch.from_numpy(places.reshape(found.shape)).to(self.device)

    def _vectors(self, rows: np.ndarray) -> Images:
        vectors = self.pooled[torch.from_numpy(rows)].to(self.device).unsqueeze(1)  # [I, 1, D]
        return Images(vectors, torch.ones(vectors.shape[:2], dtype=torch.bool, device=self.device))
