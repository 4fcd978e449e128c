"""The protocol of imported features, and matching their keys to images and their boxes to fractions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from tellapart.core.errors import InputError
from tellapart.data.pack_types import PackImage
from tellapart.images.formats import image_stem

BOX_TOLERANCE = 0.02
"""Detectors exceed the edge by a pixel or two; more than this share of a side means a wrong image size."""


@dataclass(frozen=True)
class Imported:
    """The features of one image in a source."""

    values: np.ndarray  # [R, D]
    boxes: np.ndarray | None = None  # [R, 4] x1 y1 x2 y2, in pixels or fractions
    size: tuple[float, float] | None = None
    """Width and height of the image to which pixel boxes refer, if the source states them."""
    scores: np.ndarray | None = None  # [R]
    labels: np.ndarray | None = None  # [R]


class FeatureSource(Protocol):
    """Features computed elsewhere, by key. All images have the same kind and width."""

    path: Path
    kind: str
    width: int
    has_boxes: bool
    has_detections: bool
    label_names: list[str]

    def keys(self) -> Iterable[str]:
        """Keys of the images."""
        ...

    def count(self, key: str) -> int:
        """Number of rows of one image, without reading its features if the format allows."""
        ...

    def read(self, key: str) -> Imported:
        """The features of one image."""
        ...


def match_keys(images: Sequence[PackImage], source: FeatureSource) -> list[str]:
    """The key of each image: its id, file name, or the number in it (COCO_val2014_000000000042 is 42)."""
    keys = set(source.keys())
    numbers = {int(key): key for key in keys if key.isdigit()}
    matched: list[str | None] = []
    for image in images:
        names = (image.id, image_stem(image.id), image_stem(image.file))
        exact = next((name for name in names if name in keys), None)
        matched.append(exact or next((numbers[n] for n in _numbers(names) if n in numbers), None))
    missing = [image.id for image, key in zip(images, matched, strict=True) if key is None]
    if missing:
        raise InputError(
            f"{source.path} has no features for {len(missing)} of {len(images)} images, {missing[0]} among them; "
            f"its first keys are {', '.join(sorted(keys)[:3]) or 'nothing'}. Every image of the pack needs features."
        )
    found = [key for key in matched if key is not None]
    if len(set(found)) != len(found):
        twice = next(key for key in found if found.count(key) > 1)
        raise InputError(f"Several images match the key '{twice}' of {source.path}; name features by the pack's ids.")
    return found


def _numbers(names: Iterable[str]) -> Iterable[int]:
    """A COCO file name ends with its number; a Flickr file name begins with it."""
    for name in names:
        for pattern in (r"(\d+)$", r"^(\d+)(?:_|$)"):
            found = re.search(pattern, name)
            if found:
                yield int(found.group(1))


def box_fractions(found: Imported, image: PackImage, path: Path) -> np.ndarray:
    """Boxes [R, 4] in fractions; pixels are divided by the size that the source states, else by the image's."""
    assert found.boxes is not None
    boxes: np.ndarray = np.asarray(found.boxes, np.float32).reshape(-1, 4)
    if boxes.max(initial=0) > 1 + BOX_TOLERANCE:
        width, height = found.size or (image.width, image.height)
        if not width or not height:
            raise InputError(
                f"{path}: boxes of {image.id} are in pixels, but neither it nor the pack states the image size."
            )
        boxes = boxes / np.asarray([width, height, width, height], np.float32)
    if boxes.max(initial=0) > 1 + BOX_TOLERANCE or boxes.min(initial=0) < -BOX_TOLERANCE:
        raise InputError(
            f"{path}: boxes of {image.id} exceed the image; they were made for another size than "
            f"{found.size or (image.width, image.height)}. Store image_w and image_h with them."
        )
    clipped: np.ndarray = np.clip(boxes, 0, 1)
    return clipped
