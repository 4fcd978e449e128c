"""Captions of images among other images, without torch (`inference.against`): an image to compare with is a vector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tellapart.core.progress import Progress
from tellapart.core.threads import in_order
from tellapart.images.sources import ImageInput, name_of
from tellapart.inference.caption_settings import CaptionSettings
from tellapart.inference.found_images import found_images, identity
from tellapart.inference.generated import GUIDED_BEAM, GeneratedCaptions
from tellapart.inference.judging import COMPARED, Vectors, surroundings
from tellapart.inference.known_images import KnownImages, checked_for
from tellapart.inference.light.extractor import LightExtracted, LightExtractor
from tellapart.inference.light.matching import LightMatcher
from tellapart.inference.light.neighbours import nearest_vectors

if TYPE_CHECKING:
    from tellapart.inference.light.captioning import LightCaptioner


@dataclass(frozen=True)
class LightBatch:
    """Some images with their captions, in the given order."""

    places: list[int]  # [I] positions in the given list
    captions: GeneratedCaptions | None
    faults: dict[int, str]
    """Why each unreadable image has no caption."""
    neighbours: Sequence[Sequence[str | None]] = ()
    """Names of the images that each was compared with, most similar first."""
    cells: np.ndarray | None = None  # [I, R, D]


class LightNeighbourhood:
    """The images to caption, which come first, and those to compare with; an image may be both.

    Of images to compare with, one vector is kept; of the others their cells too, as float16. Every image is read once,
    or once by the captioner and once by a judge that reads other cells.
    """

    def __init__(
        self,
        images: list[ImageInput],
        against: ImageInput | Iterable[ImageInput] | KnownImages,
        extractor: LightExtractor,
        judge: LightMatcher,
        batch_size: int,
        progress: Progress,
    ) -> None:
        self.judge, self.batch_size = judge, batch_size
        known = checked_for(against, judge) if isinstance(against, KnownImages) else None
        others = [] if isinstance(against, KnownImages) else found_images(against)
        everything = {identity(image): image for image in (*images, *others)}
        row = {key: number for number, key in enumerate(everything)}
        self.rows = np.asarray([row[identity(image)] for image in images], np.int64)
        self.kept = int(self.rows.max(initial=-1)) + 1
        self.names = [name_of(image) for image in everything.values()]
        self.vectors = np.zeros((len(everything), judge.width), np.float32)
        self.cells: dict[int, np.ndarray] = {}
        self.faults: dict[int, str] = {}
        self._read(list(everything.values()), extractor, progress)
        self.others = np.asarray([row[identity(image)] for image in others], np.int64)
        self.others = self.others[[int(place) not in self.faults for place in self.others]]
        if known is not None:
            self.others = np.arange(len(known.names)) + len(self.names)
            self.names += list(known.names)
            self.vectors = np.concatenate([self.vectors, np.asarray(known.vectors, np.float32)])

    def batches(self, captioner: LightCaptioner, settings: CaptionSettings) -> Iterator[LightBatch]:
        """Captions of the images in the given order, and the faults of unreadable ones; one thread per core."""
        captioner.open(self.judge)
        parts = [
            np.arange(first, min(first + self.batch_size, len(self.rows)))
            for first in range(0, len(self.rows), self.batch_size)
        ]
        workers = captioner.extractor.workers if len(parts) > 1 else 1
        return in_order(lambda places: self._batch(places, captioner, settings), parts, workers)

    def cells_of(self, rows: np.ndarray) -> np.ndarray:
        """The cells of images to caption [I, R, D]."""
        return np.stack([self.cells[int(row)] for row in rows]).astype(np.float32)

    def _batch(self, places: np.ndarray, captioner: LightCaptioner, settings: CaptionSettings) -> LightBatch:
        good = np.asarray([int(self.rows[place]) not in self.faults for place in places], bool)
        faults = {int(place): self.faults[int(self.rows[place])] for place in places[~good]}
        places = places[good]
        if not len(places):
            return LightBatch([], None, faults)
        rows = self.rows[places]
        count = max(COMPARED, settings.neighbours) if self.judge.evidence is not None else settings.neighbours
        found = self.others[nearest_vectors(self.vectors[rows], self.vectors[self.others], count)]
        used, nearest = np.unique(found, return_inverse=True)
        own, among = Vectors(self.vectors[rows]), Vectors(self.vectors[used])
        around = surroundings(own, among, nearest.reshape(found.shape), settings.neighbours)
        cells = self.cells_of(rows)
        captions = captioner.generate_apart(cells, self.judge, around, settings.beam or GUIDED_BEAM, settings.weight)
        names = [[self.names[one] for one in line] for line in found[:, : settings.neighbours].tolist()]
        return LightBatch(places.tolist(), captions, faults, names, cells)

    def _read(self, everything: list[ImageInput], extractor: LightExtractor, progress: Progress) -> None:
        shared = self.judge.run.reads_as(extractor.run)
        read_twice = 0 if shared else self.kept
        with progress.bar(len(everything) + read_twice, "extracting features") as advance:
            if not shared:
                for extracted in extractor.extract(everything[: self.kept], self.batch_size):
                    self.faults |= extracted.faults
                    self._keep_cells(extracted)
                    advance(len(extracted.places) + len(extracted.faults))
            for extracted in (extractor if shared else self.judge.extractor).extract(everything, self.batch_size):
                self.faults |= extracted.faults
                if extracted.places:
                    self.vectors[extracted.places] = self.judge.encode_features(extracted.cells)
                if shared:
                    self._keep_cells(extracted)
                advance(len(extracted.places) + len(extracted.faults))

    def _keep_cells(self, extracted: LightExtracted) -> None:
        for number, place in enumerate(extracted.places):
            if place < self.kept:
                self.cells[place] = extracted.cells[number].astype(np.float16)
