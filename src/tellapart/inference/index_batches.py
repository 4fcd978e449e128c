"""Images to caption among the photos of an index, in batches that are compared and captioned together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.progress import Progress
from tellapart.inference.among_index import Compared, compared_by_chooser, nearest_in_index
from tellapart.inference.caption_settings import CaptionSettings
from tellapart.inference.judging import COMPARED
from tellapart.inference.known_images import KnownImages
from tellapart.inference.light.neighbours import NO_OTHERS
from tellapart.inference.remembered_vectors import RememberedVectors


@dataclass(frozen=True)
class OwnImages:
    """The images to caption, as both matchers see them."""

    rows: np.ndarray  # [I] each image as a row of what was read; an image that is given twice is read once
    faults: Mapping[int, str]
    """Why rows are unreadable."""
    by_index: Callable[[np.ndarray], np.ndarray]
    """Vectors of rows [N, E] by the matcher of the index."""
    by_chooser: Callable[[np.ndarray], np.ndarray]
    """Vectors of rows [N, E] by the chooser."""


@dataclass(frozen=True)
class IndexBatch:
    """Some images, and why others between them are unreadable."""

    places: list[int]  # [I] positions in the given list
    rows: np.ndarray  # [I] the same images as rows of what was read
    compared: Compared | None
    """With what they are compared; None without a readable image."""
    faults: dict[int, str]

    def names(self, known: KnownImages, neighbours: int) -> list[list[str | None]]:
        """Paths of the photos that each image is compared with, most similar first."""
        assert self.compared is not None
        return [[known.names[row] for row in line[:neighbours]] for line in self.compared.found.tolist()]


def index_batches(
    own: OwnImages, known: KnownImages, chooser: RememberedVectors, settings: CaptionSettings, progress: Progress
) -> list[IndexBatch]:
    """Batches in the order of the images: the chooser reads the photos of the index that are similar to them."""
    good = [place for place, row in enumerate(own.rows.tolist()) if row not in own.faults]
    faults = {place: own.faults[row] for place, row in enumerate(own.rows.tolist()) if row in own.faults}
    if not good:
        return [IndexBatch([], own.rows[:0], None, faults)]
    rows, at_once, count = own.rows[good], settings.batch_size, max(COMPARED, settings.neighbours)
    by_index = np.concatenate([own.by_index(rows[first : first + at_once]) for first in range(0, len(rows), at_once)])
    vectors = by_index, dict(enumerate(own.by_chooser(rows)))
    near = nearest_in_index(by_index, known, count, at_once)
    compared = compared_by_chooser(vectors, known, near, count, chooser, at_once=at_once, progress=progress)
    if any(not one.found.shape[1] for one in compared):  # all photos of the index are copies of an image
        raise InputError(NO_OTHERS)
    some = with_faults([[good[row] for row in one.rows] for one in compared], faults)
    return [IndexBatch(places, own.rows[places], one, lost) for one, (places, lost) in zip([*compared, None], some)]


def with_faults(batches: Sequence[list[int]], faults: Mapping[int, str]) -> Iterator[tuple[list[int], dict[int, str]]]:
    """Each batch of places with the faults before its last place; at the end, no places and the faults after them.

    >>> list(with_faults([[0, 2]], {1: "broken", 3: "gone"}))
    [([0, 2], {1: 'broken'}), ([], {3: 'gone'})]
    """
    left = dict(sorted(faults.items()))
    for places in batches:
        yield places, {place: left.pop(place) for place in list(left) if place < places[-1]}
    if left:
        yield [], left
