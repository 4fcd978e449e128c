"""Bottom-up features as one .npy or .npz per image: `cocobu_att/42.npz`, `cocobu_fc/42.npy`, and the like.

An .npz holds the features as `feat`, `x` or `features`, boxes as `bbox` or `boxes`, their image's size as `image_w`
and `image_h`. Boxes may also lie in a sibling folder, `NAME_box` beside `NAME_att`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.explained import reason
from tellapart.features.importers.source import Imported
from tellapart.features.regions import grid_boxes

FEATURE_NAMES = ("feat", "x", "features", "feature", "arr_0")
BOX_NAMES = ("bbox", "boxes", "box")


class FileSource:
    """A folder of arrays named by image. [D] is a vector, [R, D] are regions, [H, W, D] is a grid."""

    has_detections = False
    label_names: list[str] = []  # noqa: RUF012 - never written to

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = {file.stem: file for file in sorted(path.iterdir()) if file.suffix in (".npy", ".npz")}
        if not self._files:
            raise InputError(f"{path} holds no .npy or .npz files; give the folder with one array per image.")
        sibling = path.with_name(path.name.removesuffix("_att") + "_box")
        self._boxes = sibling if path.name.endswith("_att") and sibling.is_dir() else None
        first = next(iter(self._files))
        values, boxes, _ = self._arrays(first)
        if values.ndim not in (1, 2, 3):
            raise InputError(f"{self._files[first]} has shape {values.shape}; expected [D], [R, D] or [H, W, D].")
        self.kind = ("vector", "regions", "grid")[values.ndim - 1]
        self.width = int(values.shape[-1])
        self.has_boxes = boxes is not None or values.ndim == 3

    def keys(self) -> Iterable[str]:
        return self._files

    def count(self, key: str) -> int:
        return self._counts[key]

    @cached_property
    def _counts(self) -> dict[str, int]:
        return {key: int(np.prod(self._arrays(key)[0].shape[:-1])) for key in self._files}

    def read(self, key: str) -> Imported:
        values, boxes, size = self._arrays(key)
        if values.shape[-1] != self.width:
            raise InputError(f"{self._files[key]} has width {values.shape[-1]}, the others {self.width}; remove it.")
        if values.ndim == 3:
            boxes = grid_boxes(*values.shape[:2])
        return Imported(values.reshape(-1, self.width), boxes, size)

    def _arrays(self, key: str) -> tuple[np.ndarray, np.ndarray | None, tuple[float, float] | None]:
        file = self._files[key]
        try:
            loaded = np.load(file, mmap_mode="r", allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded, self._sibling_boxes(key), None
            with loaded:
                values = next((loaded[name] for name in FEATURE_NAMES if name in loaded.files), None)
                if values is None:
                    raise InputError(f"{file} holds {', '.join(loaded.files)}; expected {' or '.join(FEATURE_NAMES)}.")
                boxes = next((loaded[name] for name in BOX_NAMES if name in loaded.files), None)
                size = None
                if "image_w" in loaded.files and "image_h" in loaded.files:
                    size = float(loaded["image_w"]), float(loaded["image_h"])
            return values, self._sibling_boxes(key) if boxes is None else boxes, size
        except InputError:
            raise
        except Exception as error:  # zip and numpy raise many kinds for a damaged file
            raise InputError(f"{file} cannot be read as arrays ({reason(error)}); fix it or make it again.") from error

    def _sibling_boxes(self, key: str) -> np.ndarray | None:
        return None if self._boxes is None else np.load(self._boxes / f"{key}.npy", allow_pickle=False)
