"""Photos looked at once and kept at hand: vectors in memory to find neighbours by, all rows in a temporary file."""

from __future__ import annotations

import tempfile

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.types import Images
from tellapart.inference.distinctive import nearest
from tellapart.inference.feature_extractor import Look, Looked

SAME_WITHIN = 1e-3
"""Copies of one photo differ by the rounding of their features, about 1e-5; two shots of one scene by far more."""


class Neighbours:
    """Rows follow the list of photos that was looked at; a photo that could not be read has none.

    Memory holds a pooled vector (5 kB) and the boxes of each photo; a grid of features is 125 kB on the disk.
    """

    def __init__(self, photos: int, look: Look, device: torch.device | str = "cpu") -> None:
        self.look, self.device = look, torch.device(device)
        with tempfile.TemporaryFile(prefix="tellapart-") as file:  # the map holds on to it, and frees it with itself
            self.values = np.memmap(file, np.float16, "w+", shape=(max(1, photos), look.rows, look.width))  # type: ignore[call-overload]
        self.pooled = torch.zeros(photos, look.width)
        self.boxes = None if look.kind == "vector" else torch.zeros(photos, look.rows, 4)
        self.faults: dict[int, str] = {}
        self.readable = np.zeros(photos, bool)

    def add(self, looked: Looked) -> None:
        self.faults |= looked.faults
        if not looked.photos:
            return
        self.values[looked.photos] = looked.images.features.half().cpu().numpy()
        self.pooled[looked.photos] = looked.images.pooled().cpu()
        if self.boxes is not None and looked.images.boxes is not None:
            self.boxes[looked.photos] = looked.images.boxes.cpu()
        self.readable[looked.photos] = True

    def images(self, rows: np.ndarray) -> Images:
        """All features of these photos [I, R, D]."""
        features = torch.from_numpy(np.asarray(self.values[rows])).to(self.device).float()
        mask = torch.ones(features.shape[:2], dtype=torch.bool, device=self.device)
        boxes = None if self.boxes is None else self.boxes[torch.from_numpy(rows)].to(self.device)
        return Images(features, mask, boxes)

    def around(self, rows: np.ndarray, candidates: np.ndarray, count: int) -> tuple[Images, Tensor]:
        """The `count` candidates most like each of these photos: the images that occur, and [I, count] rows of them.

        The photo itself and copies of it are no neighbours.
        """
        if not len(candidates):
            raise InputError("To tell an image apart takes at least one other image; give a folder with more.")
        found = nearest(self._vectors(rows), self._vectors(candidates), count, SAME_WITHIN).cpu().numpy()  # [I, M]
        used, places = np.unique(found, return_inverse=True)
        return self.images(candidates[used]), torch.from_numpy(places.reshape(found.shape)).to(self.device)

    def _vectors(self, rows: np.ndarray) -> Images:
        vectors = self.pooled[torch.from_numpy(rows)].to(self.device).unsqueeze(1)  # [I, 1, D]
        return Images(vectors, torch.ones(vectors.shape[:2], dtype=torch.bool, device=self.device))
