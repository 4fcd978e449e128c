"""Which photos of an index an image is compared with, and by whose vectors.

The index has vectors by its own matcher, which find the similar photos. The judge of captions may be another matcher,
the chooser: it reads these photos, orders them by its own vectors, and leaves out those that it cannot read. An image
without a similar photo that can be read is compared by the vectors of the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from tellapart.core.progress import Progress
from tellapart.images.verified_file import VerifiedFile
from tellapart.inference.known_images import KnownImages
from tellapart.inference.light.neighbours import nearest_vectors
from tellapart.inference.remembered_vectors import RememberedVectors

Candidates = Sequence[Sequence[int]]  # [I] rows of the index that each image may be compared with


@dataclass(frozen=True)
class Compared:
    """Images that follow each other and that one judge compares with equally many photos of an index."""

    by_chooser: bool
    """Whether the vectors are the chooser's, not those of the index."""
    rows: list[int]  # [I] images
    found: np.ndarray  # [I, M + L] rows of the index, most similar first
    own: np.ndarray  # [I, E]
    among: np.ndarray  # [A, E]
    nearest: np.ndarray  # [I, M + L] the same photos as rows of `among`


@dataclass(frozen=True)
class _Side:
    """The vectors of one matcher: of the images, and of photos of the index by their rows."""

    own: Mapping[int, np.ndarray]
    photos: Mapping[int, np.ndarray]

    def similar(self, image: int, candidates: Sequence[int], count: int) -> list[int]:
        """The candidates with a vector that are most similar to an image, without its copies."""
        rows = [row for row in candidates if row in self.photos]
        if image not in self.own or not rows:
            return []
        among = np.stack([self.photos[row] for row in rows])
        return [rows[place] for place in nearest_vectors(self.own[image][None], among, count)[0].tolist()]

    def compared(self, by_chooser: bool, images: list[int], found: list[list[int]]) -> Compared:
        used, nearest = np.unique(np.asarray(found, np.int64), return_inverse=True)
        own = np.stack([self.own[image] for image in images])
        among = np.stack([self.photos[row] for row in used.tolist()]) if len(used) else own[:0]
        rows = np.asarray(found, np.int64).reshape(len(images), -1)
        return Compared(by_chooser, images, rows, own, among, nearest.reshape(rows.shape))


def compared_by_index(own: np.ndarray, known: KnownImages, candidates: Candidates, count: int) -> list[Compared]:
    """Images with vectors [I, E] by the matcher of the index, each with its `count` most similar candidates."""
    side = _index_side(own, known, candidates)
    found = [side.similar(image, rows, count) for image, rows in enumerate(candidates)]
    return list(_grouped({False: side}, [(False, rows) for rows in found], len(own)))


def compared_by_chooser(
    own: tuple[np.ndarray, Mapping[int, np.ndarray]],
    known: KnownImages,
    candidates: Candidates,
    count: int,
    chooser: RememberedVectors,
    *,
    at_once: int,
    progress: Progress | None = None,
) -> list[Compared]:
    """The same by the chooser's vectors, up to `at_once` images together.

    own: vectors of the images by the matcher of the index [I, E], and by the chooser as far as it could read them.
    """
    by_index, by_chooser = own
    index = _index_side(by_index, known, candidates)
    near = [index.similar(image, rows, count) for image, rows in enumerate(candidates)]
    read = _Side(by_chooser, _read(known, near, chooser, progress))
    chosen = [read.similar(image, rows, count) for image, rows in enumerate(near)]
    found = [(bool(rows), rows or others) for rows, others in zip(chosen, near)]
    _say_unread(found, {row for rows in near for row in rows} - read.photos.keys(), progress)
    return list(_grouped({False: index, True: read}, found, at_once))


def nearest_in_index(own: np.ndarray, known: KnownImages, count: int, at_once: int) -> list[list[int]]:
    """The rows of the index most similar to images [I, E], without copies of them."""
    parts = (own[first : first + at_once] for first in range(0, len(own), at_once))
    return [rows for part in parts for rows in nearest_vectors(part, known.vectors, count).tolist()]


def _index_side(own: np.ndarray, known: KnownImages, candidates: Candidates) -> _Side:
    used = {row for rows in candidates for row in rows}
    return _Side(dict(enumerate(own)), {row: known.vectors[row] for row in used})


def _read(
    known: KnownImages, candidates: Candidates, chooser: RememberedVectors, progress: Progress | None
) -> dict[int, np.ndarray]:
    """The chooser's vectors of candidates, by their rows."""
    if not known.contents:
        return {}
    copies: dict[str, dict[int, None]] = {}
    for rows in candidates:
        for row in rows:
            copies.setdefault(known.contents[row], {})[row] = None
    vectors = chooser.of({content: _first_file(known, list(rows)) for content, rows in copies.items()}, progress)
    return {row: vectors[content] for content, rows in copies.items() if content in vectors for row in rows}


def _first_file(known: KnownImages, copies: Sequence[int]) -> Callable[[], VerifiedFile | None]:
    return lambda: next((file for row in copies if (file := known.file(row)) is not None), None)


def _grouped(sides: Mapping[bool, _Side], found: Sequence[tuple[bool, list[int]]], at_once: int) -> Iterator[Compared]:
    for first in range(0, len(found), at_once):
        images = range(first, min(first + at_once, len(found)))
        for (by_chooser, _), some in groupby(images, lambda image: (found[image][0], len(found[image][1]))):
            same = list(some)
            yield sides[by_chooser].compared(by_chooser, same, [found[image][1] for image in same])


def _say_unread(found: Sequence[tuple[bool, list[int]]], unread: set[int], progress: Progress | None) -> None:
    """Say which photos of the index the chooser could not compare with, and for how many images that left none."""
    if progress is None or not unread:
        return
    progress.line(
        f"Similar photos of the index that cannot be read, so captions are not compared with them: {len(unread)}."
    )
    if lost := sum(not by_chooser for by_chooser, _ in found):
        progress.line(
            f"Photos without a similar photo that can be read: {lost}. bundled:matcher chooses their captions."
        )
