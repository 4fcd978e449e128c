"""The look-alikes of each image: the nearest by given vectors, or read from a file."""

import json
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.explained import reason

LOOK_ALIKES = 9
"""Similar images that a caption must distinguish its own from."""
BLOCK = 1024

Neighbours = str | Path | Sequence[Sequence[int]]
"""A file, or rows of similar images for each image."""


def nearest_rows(vectors: np.ndarray, count: int = LOOK_ALIKES) -> np.ndarray:
    """[I, count]: the rows of the vectors [I, D] with the largest cosine, nearest first; never the row itself.

    Of equally near rows the first comes first. Fewer than `count` other rows give fewer columns.

    >>> nearest_rows(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.2]]), 1).tolist()
    [[2], [2], [0]]
    """
    if vectors.ndim != 2 or len(vectors) < 2:
        raise InputError(f"Vectors of at least two images [images, width] are needed, not {vectors.shape}.")
    if count < 1:
        raise InputError(f"The number of look-alikes must be at least 1, not {count}.")
    if not np.isfinite(vectors).all():
        raise InputError("The vectors have values that are not finite; extract them again.")
    kept = vectors.astype(np.float32)
    lengths = np.linalg.norm(kept, axis=1, keepdims=True)
    unit = kept / np.where(lengths == 0, 1, lengths)
    parts = []
    for first in range(0, len(unit), BLOCK):
        similarity = unit[first : first + BLOCK] @ unit.T  # [n, I]
        rows = np.arange(len(similarity))
        similarity[rows, first + rows] = -np.inf
        parts.append(np.argsort(-similarity, axis=1, kind="stable")[:, : min(count, len(unit) - 1)])
    return np.concatenate(parts)


def neighbours_of(
    neighbours: Neighbours, images: Sequence[Hashable], count: int = LOOK_ALIKES
) -> Sequence[Sequence[int]]:
    """Rows of similar images as given, or at most `count` per image from a file."""
    return read_neighbours(Path(neighbours), images, count) if isinstance(neighbours, str | Path) else neighbours


def read_neighbours(path: Path, images: Sequence[Hashable], count: int = LOOK_ALIKES) -> list[list[int]]:
    """The look-alikes of each image, as rows of `images`, at most `count` each.

    path: `.npy` with vectors [I, D] in the order of the references; or `.json`, an object with the ids of similar
    images by image id, nearest first.
    """
    if path.suffix == ".npy":
        return [row.tolist() for row in nearest_rows(_vectors(path, len(images)), count)]
    listed = _listed(path)
    rows = {str(key): row for row, key in enumerate(images)}
    found = []
    for row, key in enumerate(images):
        similar = listed.get(str(key))
        if not isinstance(similar, list) or not similar:
            raise InputError(f"{path} lists no similar images for image {key!r}; list at least one for every image.")
        unknown = [other for other in similar if rows.get(str(other), row) == row]
        if unknown:
            raise InputError(
                f"{path}: image {key!r} has the similar image {unknown[0]!r}, which is the image itself or has no "
                "references; list other images of the references."
            )
        found.append([rows[str(other)] for other in similar[:count]])
    return found


def _vectors(path: Path, images: int) -> np.ndarray:
    try:
        vectors: np.ndarray = np.load(path, allow_pickle=False)
    except Exception as error:  # numpy raises even a TokenError for a damaged header
        raise InputError(f"{path} cannot be read as an array ({reason(error)}); write it with numpy.save.") from error
    if vectors.ndim != 2 or len(vectors) != images or not np.issubdtype(vectors.dtype, np.number):
        raise InputError(
            f"{path} has an array of shape {vectors.shape}; give one vector for each of the {images} images of the "
            "references, in their order."
        )
    return vectors


def _listed(path: Path) -> Mapping[str, object]:
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as JSON ({error}).") from error
    if not isinstance(data, dict):
        raise InputError(f"{path} must be an object that maps image ids to lists of similar image ids.")
    return data
