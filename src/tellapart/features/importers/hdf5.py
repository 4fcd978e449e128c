"""Features in HDF5: one dataset or group per image, or one large array with ids. Needs h5py.

- `/42` is a dataset [D], [R, D] or [H, W, D]; or a group with `features` (and `boxes`, `scores`).
- `/features` [I, R, D] or [I, D] with `/image_ids` [I] (or `ids`), and perhaps `/boxes` [I, R, 4].
- `/image_features` [rows, D] with `/pos_boxes` [I, 2] (first, last + 1), `/image_bb` [rows, 4] and `/image_ids`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.features.importers.source import Imported
from tellapart.features.regions import grid_boxes

ID_NAMES = ("image_ids", "ids", "image_id")


class Hdf5Source:
    """An HDF5 file of features."""

    label_names: list[str] = []  # noqa: RUF012 - never written to
    has_detections = False

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            h5py = importlib.import_module("h5py")
        except ImportError as error:
            raise InputError(f"Reading {path} needs h5py; run `pip install h5py`.") from error
        try:
            self._file = h5py.File(path, "r")
        except OSError as error:
            raise InputError(f"{path} cannot be opened as HDF5 ({error}).") from error
        self._ranges: dict[str, slice | int] = {}
        self._features = next((name for name in ("image_features", "features") if self._is_array(name)), "")
        if self._features:
            self._index()
        if not self._ranges and not len(self._file):
            raise InputError(f"{path} is empty; give a file with one dataset per image, or `features` with `ids`.")
        first = self.read(next(iter(self.keys())))
        self.width = int(first.values.shape[1])
        self.has_boxes = first.boxes is not None
        self.kind = self._kind(next(iter(self.keys())), first)

    def _is_array(self, name: str) -> bool:
        return name in self._file and hasattr(self._file[name], "shape")

    def _index(self) -> None:
        """Find the rows of each id in the large array."""
        ids_name = next((name for name in ID_NAMES if self._is_array(name)), None)
        if ids_name is None:
            raise InputError(f"{self.path} has `{self._features}` but no `image_ids`; add them.")
        ids = [item.decode() if isinstance(item, bytes) else str(item) for item in self._file[ids_name][()].tolist()]
        if self._is_array("pos_boxes"):
            starts = np.asarray(self._file["pos_boxes"])
            self._ranges = {key: slice(int(first), int(last)) for key, (first, last) in zip(ids, starts, strict=True)}
        else:
            self._ranges = {key: index for index, key in enumerate(ids)}

    def keys(self) -> Iterable[str]:
        return self._ranges or list(self._file)

    def count(self, key: str) -> int:
        place = self._ranges.get(key)
        if isinstance(place, slice):
            return int(place.stop - place.start)
        if place is not None:
            return int(np.prod(self._file[self._features].shape[1:-1]))
        item = self._file[key]
        return int(np.prod((item if hasattr(item, "shape") else item["features"]).shape[:-1]))

    def read(self, key: str) -> Imported:
        values, boxes = self._arrays(key)
        if values.ndim == 3 and boxes is None:
            boxes = grid_boxes(*values.shape[:2])
        return Imported(values.reshape(-1, values.shape[-1]), boxes)

    def _arrays(self, key: str) -> tuple[np.ndarray, np.ndarray | None]:
        if self._ranges:
            name = next((name for name in ("image_bb", "boxes") if self._is_array(name)), None)
            boxes = None if name is None else np.asarray(self._file[name][self._ranges[key]])
            return np.asarray(self._file[self._features][self._ranges[key]]), boxes
        item: Any = self._file[key]
        if hasattr(item, "shape"):
            return np.asarray(item), None
        if "features" not in item:
            raise InputError(f"{self.path}: group '{key}' has {', '.join(item)}; expected a dataset `features`.")
        return np.asarray(item["features"]), np.asarray(item["boxes"]) if "boxes" in item else None

    def _kind(self, key: str, first: Imported) -> str:
        values, _ = self._arrays(key)
        if values.ndim == 3:
            return "grid"
        return "vector" if values.ndim == 1 else "regions"
