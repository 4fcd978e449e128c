"""Features on disk: memory-mapped float16 rows with offsets, so that a batch reads only its own images.

features/NAME/
  features.json   kind (vector, grid, regions), width, backbone, how it was made; written last
  values.f16      all rows end to end [rows, width]
  offsets.npy     [images + 1]: image i has rows offsets[i] … offsets[i + 1] - 1
  boxes.npy       [rows, 4] x1 y1 x2 y2 as fractions of width and height (grid, regions)
  scores.npy      [rows] detector scores (regions)
  labels.npy      [rows] index into features.json's `label_names`, -1 for none (regions)
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.files import read_json


class FeatureStore:
    """Opened features of a pack; rows follow the pack's images. Safe to open by path in each worker."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not (self.folder / "features.json").is_file():
            raise InputError(f"No finished features at {self.folder}; make them with `tellapart extract`.")
        self.facts: dict[str, Any] = read_json(self.folder / "features.json")

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def kind(self) -> str:
        return str(self.facts["kind"])

    @property
    def width(self) -> int:
        return int(self.facts["width"])

    @cached_property
    def offsets(self) -> np.ndarray:
        return np.load(self.folder / "offsets.npy")

    @cached_property
    def values(self) -> np.ndarray:
        return np.memmap(self.folder / "values.f16", dtype=np.float16, mode="r").reshape(-1, self.width)

    @cached_property
    def boxes(self) -> np.ndarray | None:
        return self._optional("boxes")

    @cached_property
    def scores(self) -> np.ndarray | None:
        return self._optional("scores")

    @cached_property
    def labels(self) -> np.ndarray | None:
        return self._optional("labels")

    @property
    def label_names(self) -> list[str]:
        return list(self.facts.get("label_names", []))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def most_rows(self) -> int:
        return int(np.diff(self.offsets).max(initial=0))

    def gather(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Row numbers [I, R] (0 where there is none) and mask [I, R] of some images' feature rows."""
        first, last = self.offsets[images], self.offsets[images + 1]
        counts = last - first
        if len(counts) and counts.min() == 0:
            missing = int(images[int(counts.argmin())])
            raise InputError(f"Image row {missing} has no features in {self.folder}; run `tellapart extract` again.")
        steps = np.arange(counts.max(initial=0))
        mask = steps[None, :] < counts[:, None]
        return np.where(mask, first[:, None] + steps[None, :], 0), mask

    def _optional(self, name: str) -> np.ndarray | None:
        path = self.folder / f"{name}.npy"
        return np.load(path, mmap_mode="r") if path.is_file() else None


def mirror_of(store: FeatureStore) -> FeatureStore:
    """The features of the mirror images, NAME-flip beside NAME, row by row those of the same images."""
    folder = store.folder.with_name(f"{store.name}-flip")
    if not (folder / "features.json").is_file():
        raise InputError(f"There are no features of mirror images at {folder}; run `tellapart extract` with --flip.")
    mirror = FeatureStore(folder)
    if mirror.width != store.width or not np.array_equal(mirror.offsets, store.offsets):
        raise InputError(f"{folder} are not the mirror images of {store.folder}; extract both again with --flip.")
    return mirror
