"""Features on disk: memory-mapped float16 rows with offsets, so that a batch reads only its images.

features/NAME/
  features.json   kind (vector, grid, regions), width, backbone, how it was made; written last
  values.f16      all rows [rows, width]
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

from tellapart.core.checksums import check_sizes
from tellapart.core.errors import InputError, Step
from tellapart.core.explained import explained
from tellapart.core.files import load_array, read_json
from tellapart.data.stored_arrays import load_offsets

AGAIN = "extract the features again"


class FeatureStore:
    """Opened features of a pack, in the order of its images. Every worker process may open them by path."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not (self.folder / "features.json").is_file():
            raise InputError(f"No finished features at {self.folder}; extract them first.", Step("extract", "PACK"))
        check_sizes(self.folder, "extract the features again")
        self.facts: dict[str, Any] = read_json(self.folder / "features.json")
        if not isinstance(self.facts, dict) or not _describes_features(self.facts):
            raise InputError(f"{self.folder / 'features.json'} does not describe features; extract them again.")

    @property
    def name(self) -> str:
        """Name of the features in their pack."""
        return self.folder.name

    @property
    def kind(self) -> str:
        """vector, grid or regions."""
        return str(self.facts["kind"])

    @property
    def width(self) -> int:
        """Numbers per row."""
        return int(self.facts["width"])

    @cached_property
    def offsets(self) -> np.ndarray:
        """[I + 1]: image i has rows offsets[i] … offsets[i + 1] - 1."""
        return load_offsets(self.folder / "offsets.npy", AGAIN)

    @cached_property
    def values(self) -> np.ndarray:
        """All rows [rows, width] float16, memory-mapped."""
        with explained(self.folder / "values.f16", AGAIN):
            values = np.memmap(self.folder / "values.f16", dtype=np.float16, mode="r").reshape(-1, self.width)
        if len(values) != int(self.offsets[-1]):
            raise InputError(
                f"{self.folder / 'values.f16'} has {len(values)} rows, but offsets.npy names {int(self.offsets[-1])}; "
                "extract the features again."
            )
        return values

    @cached_property
    def boxes(self) -> np.ndarray | None:
        """[rows, 4] x1 y1 x2 y2 as fractions, if the rows have boxes."""
        return self._optional("boxes")

    @cached_property
    def scores(self) -> np.ndarray | None:
        """[rows] detector scores, if the rows are regions."""
        return self._optional("scores")

    @cached_property
    def labels(self) -> np.ndarray | None:
        """[rows] indices into `label_names`, -1 for none, if the rows are regions."""
        return self._optional("labels")

    @property
    def label_names(self) -> list[str]:
        """Names of the detector's labels."""
        return list(self.facts.get("label_names", []))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def most_rows(self) -> int:
        """Largest number of rows of any image."""
        return int(np.diff(self.offsets).max(initial=0))

    def gather(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Row numbers [I, R] (0 for padding) and mask [I, R] of the feature rows of some images."""
        first, last = self.offsets[images], self.offsets[images + 1]
        counts = last - first
        if len(counts) and counts.min() == 0:
            missing = int(images[int(counts.argmin())])
            raise InputError(f"Image row {missing} has no features in {self.folder}; extract them again.")
        steps = np.arange(counts.max(initial=0))
        mask = steps[None, :] < counts[:, None]
        return np.where(mask, first[:, None] + steps[None, :], 0), mask

    def _optional(self, name: str) -> np.ndarray | None:
        path = self.folder / f"{name}.npy"
        if not path.is_file():
            return None
        values = load_array(path, mapped=True)
        if values.ndim == 0 or len(values) != int(self.offsets[-1]):
            raise InputError(f"{path} does not have one row per row of values.f16; {AGAIN}.")
        return values


def _describes_features(facts: dict[str, Any]) -> bool:
    """Whether the facts name a kind and a width that can be."""
    width = facts.get("width")
    return isinstance(facts.get("kind"), str) and isinstance(width, int) and width > 0


def mirror_of(store: FeatureStore) -> FeatureStore:
    """The features of the mirror images (NAME-flip for NAME), in the same order."""
    folder = store.folder.with_name(f"{store.name}-flip")
    if not (folder / "features.json").is_file():
        raise InputError(f"No features of mirror images at {folder}; extract them with `flip=True`.")
    mirror = FeatureStore(folder)
    if mirror.width != store.width or not np.array_equal(mirror.offsets, store.offsets):
        raise InputError(f"{folder} are not the mirror images of {store.folder}; extract both again with `flip=True`.")
    return mirror
