"""Boxes of a detector, as JSONL (one image per line) or as COCO results JSON (one box per entry).

    {"image": "1.jpg", "width": 500, "height": 375, "boxes": [[x1, y1, x2, y2], …], "scores": […], "labels": […]}
    [{"image_id": 1, "category_id": 18, "bbox": [x, y, width, height], "score": 0.9}, …]

Boxes become fractions of the image, so that they are valid at any image size.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.data.pack_types import Detections
from tellapart.data.readers.coco_categories import CATEGORIES
from tellapart.data.readers.source import Skipped, Source, json_lines, read_json_text
from tellapart.images.formats import image_stem

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class KnownImage:
    """An image of the pack. Boxes without a stated image size refer to this size."""

    row: int
    width: int
    height: int


def find_detections(folder: Path) -> Path | None:
    """The file of detections in a folder, if any."""
    found = [path for path in (folder / "detections.jsonl", folder / "detections.json") if path.is_file()]
    return found[0] if found else None


def read_detections(
    path: Path, known: Mapping[str, KnownImage], absent: set[str], encoding: str = "utf-8"
) -> tuple[list[Detections], list[Skipped]]:
    """Detections of known images, by row. `known` is keyed by id and by file stem; `absent` images are ignored."""
    source = Source(path.name, path.parent)
    results = path.suffix == ".json"
    rows = _from_results(path, known, source, encoding) if results else _from_lines(path, known, source, encoding)
    found: dict[int, Detections] = {}
    for key, where, boxes, scores, labels in rows:
        if key not in known:
            if key not in absent:
                source.skip("unknown image", key, where, "its image is not in the pack")
            continue
        if known[key].row in found:
            source.skip("duplicate id", key, where, "this image has detections already; the first are kept")
            continue
        best = sorted(range(len(scores)), key=lambda index: -scores[index])
        found[known[key].row] = Detections(
            known[key].row,
            tuple(boxes[i] for i in best),
            tuple(scores[i] for i in best),
            tuple(labels[i] for i in best),
        )
    return [found[row] for row in sorted(found)], source.skipped


def fractions(boxes: Sequence[Sequence[float]], width: float, height: float) -> list[Box]:
    """x1 y1 x2 y2 in pixels as fractions of the image, clipped to it.

    >>> fractions([[10, 0, 120, 50]], 100, 100)
    [(0.1, 0.0, 1.0, 0.5)]
    """
    if not len(boxes):
        return []
    scaled = np.asarray(boxes, dtype=np.float64).reshape(-1, 4) / np.asarray([width, height, width, height])
    return [(row[0], row[1], row[2], row[3]) for row in scaled.clip(0, 1).round(5).tolist()]


_Rows = list[tuple[str, str, list[Box], list[float], list[str]]]


def _from_lines(path: Path, known: Mapping[str, KnownImage], source: Source, encoding: str) -> _Rows:
    rows: _Rows = []
    for where, row in json_lines(path, source, encoding):
        key = image_stem(str(row.get("image", row.get("image_id", row.get("id", "")))))
        boxes, scores, labels = row.get("boxes", []), row.get("scores", []), row.get("labels", [])
        scores = scores or [1.0] * len(boxes)
        labels = labels or [""] * len(boxes)
        size = known.get(key)
        width, height = row.get("width") or (size and size.width), row.get("height") or (size and size.height)
        try:
            if not key or not len(boxes) == len(scores) == len(labels):
                raise ValueError
            inside = fractions(boxes, float(width or 1), float(height or 1))
            rows.append((key, where, inside, [float(score) for score in scores], [str(label) for label in labels]))
        except (TypeError, ValueError):
            reason = "needs 'image' and as many 'boxes' (x1 y1 x2 y2) as 'scores' and 'labels'"
            source.skip("broken line", key or json.dumps(row)[:60], where, reason)
    return rows


def _from_results(path: Path, known: Mapping[str, KnownImage], source: Source, encoding: str) -> _Rows:
    content: Any = read_json_text(path, encoding)
    if not isinstance(content, list):
        raise InputError(
            f"{path} is not COCO results JSON: it must be a list of {{image_id, category_id, bbox, score}}."
        )
    grouped: dict[str, list[dict[str, Any]]] = {}
    where: dict[str, str] = {}
    for index, row in enumerate(content):
        place = f"{path.name}, [{index}]"
        if not _is_box(row):
            reason = "needs image_id, bbox [x, y, width, height], category_id, score"
            source.skip("broken entry", str(row)[:60], place, reason)
            continue
        key = image_stem(str(row["image_id"]))
        grouped.setdefault(key, []).append(row)
        where.setdefault(key, place)
    rows: _Rows = []
    for key, found in grouped.items():
        size = known.get(key, KnownImage(-1, 1, 1))
        corners = [[x, y, x + width, y + height] for x, y, width, height in (row["bbox"] for row in found)]
        labels = [CATEGORIES.get(row.get("category_id", -1), str(row.get("category_id", ""))) for row in found]
        scores = [float(row.get("score", 1.0)) for row in found]
        rows.append((key, where[key], fractions(corners, size.width or 1, size.height or 1), scores, labels))
    return rows


def _is_box(row: Any) -> bool:
    """Whether an entry of COCO results is a valid box; category and score are optional."""
    if not isinstance(row, dict) or not isinstance(row.get("image_id"), int | str):
        return False
    box, category, score = row.get("bbox"), row.get("category_id", -1), row.get("score", 1.0)
    numbers = [*box, score] if isinstance(box, list) and len(box) == 4 else [None]
    return isinstance(category, int | str) and all(isinstance(number, int | float) for number in numbers)
