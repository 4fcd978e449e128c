"""Bottom-up features as TSV: one image per line, arrays in base64, in the six- and the ten-column layout."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.features.importers.source import Imported

LAYOUTS = {
    6: ("image_id", "image_w", "image_h", "num_boxes", "boxes", "features"),
    10: (
        "image_id",
        "image_h",
        "image_w",
        "objects_id",
        "objects_conf",
        "attrs_id",
        "attrs_conf",
        "num_boxes",
        "boxes",
        "features",
    ),
}


class TsvSource:
    """A TSV file, indexed by line, so that a file of many gigabytes is read one image at a time."""

    kind = "regions"
    has_boxes = True

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[str, tuple[int, int]] = {}  # key -> (byte, line number)
        self._rows: dict[str, int] = {}
        with path.open("rb") as file:
            place, columns = 0, 0
            for number, line in enumerate(file, 1):
                fields = line.rstrip(b"\r\n").split(b"\t")
                columns = columns or len(fields)
                if columns not in LAYOUTS or len(fields) != columns:
                    raise InputError(f"{path}, line {number}: {len(fields)} columns; expected 6 or 10 on every line.")
                layout = LAYOUTS[columns]
                key, rows = fields[0].decode(), fields[layout.index("num_boxes")]
                if not rows.isdigit():
                    raise InputError(
                        f"{path}, line {number}: '{rows[:20].decode(errors='replace')}' is not a number of boxes."
                    )
                self._places[key] = (place, number)
                self._rows[key] = int(rows)
                place += len(line)
        if not self._places:
            raise InputError(f"{path} is empty; give a TSV with one image per line.")
        self._layout = LAYOUTS[columns]
        self.has_detections = columns == 10
        first = next((key for key, rows in self._rows.items() if rows), None)
        if first is None:
            raise InputError(f"{path} has no boxes on any line; make it again.")
        self.width = 0
        found = self.read(first)
        self.width = found.values.shape[1]
        self.label_names = [str(label) for label in range(self._most_label())] if self.has_detections else []

    def keys(self) -> Iterable[str]:
        return self._places

    def count(self, key: str) -> int:
        return self._rows[key]

    def read(self, key: str) -> Imported:
        place, number = self._places[key]
        with self.path.open("rb") as file:
            file.seek(place)
            fields = dict(zip(self._layout, file.readline().rstrip(b"\r\n").split(b"\t"), strict=True))
        rows = self._rows[key]
        try:
            values = _array(fields["features"], np.float32).reshape(rows, -1)
            boxes = _array(fields["boxes"], np.float32).reshape(rows, 4)
            size = float(fields["image_w"]), float(fields["image_h"])
            scores = _array(fields["objects_conf"], np.float32) if self.has_detections else None
            labels = _array(fields["objects_id"], np.int64) if self.has_detections else None
        except (binascii.Error, ValueError) as error:
            raise InputError(f"{self.path}, line {number}: broken features of image {key} ({error}).") from error
        if self.width and values.shape[1] != self.width:
            raise InputError(f"{self.path}, line {number}: width {values.shape[1]}, the others have {self.width}.")
        return Imported(values, boxes, size, scores, labels)

    def _most_label(self) -> int:
        """The largest label. Labels are numbers; their names are the numbers."""
        return 1 + max((int(labels.max(initial=-1)) for labels in map(self._labels, self._places)), default=-1)

    def _labels(self, key: str) -> np.ndarray:
        labels = self.read(key).labels
        assert labels is not None
        return labels


def _array(text: bytes, kind: type[np.generic]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text, validate=True), kind)
