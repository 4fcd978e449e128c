"""Captions of images among other images: features of all of them, extracted once, and the neighbours of each."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator

import numpy as np

from tellapart.core.progress import Progress
from tellapart.core.protocols import Matcher
from tellapart.core.types import Images
from tellapart.images.folders import find_some_photos
from tellapart.images.sources import ImageInput, as_images
from tellapart.inference.caption_generator import CaptionGenerator, GeneratedCaptions
from tellapart.inference.feature_extractor import FeatureExtractor
from tellapart.inference.neighbours import NeighbourFinder


class Neighbourhood:
    """Features of the images to caption, which come first, and of those to compare with; an image may be both."""

    def __init__(
        self,
        images: list[ImageInput],
        against: ImageInput | Iterable[ImageInput],
        extractor: FeatureExtractor,
        batch_size: int,
        progress: Progress,
    ) -> None:
        self.batch_size = batch_size
        others = found_images(against)
        everything = {_identity(image): image for image in (*images, *others)}
        row = {identity: number for number, identity in enumerate(everything)}
        self.rows = np.asarray([row[_identity(image)] for image in images], np.int64)
        self.known = NeighbourFinder(len(everything), extractor.spec, extractor.device)
        with progress.bar(len(everything), "extracting features") as advance:
            for extracted in extractor.extract(everything.values(), batch_size):
                self.known.add(extracted)
                advance(len(extracted.places) + len(extracted.faults))
        rows = np.asarray([row[_identity(image)] for image in others], np.int64)
        self.others = rows[self.known.readable[rows]]

    def batches(
        self, generator: CaptionGenerator, beam: int, neighbours: int, weight: float, judge: Matcher | None
    ) -> Iterator[tuple[list[int], Images | None, GeneratedCaptions | None, dict[int, str]]]:
        """Positions of images, their features and distinctive captions, and the faults of unreadable ones."""
        for first in range(0, len(self.rows), self.batch_size):
            places = np.arange(first, min(first + self.batch_size, len(self.rows)))
            readable = self.known.readable[self.rows[places]]
            faults = {int(place): self.known.faults[int(self.rows[place])] for place in places[~readable]}
            places = places[readable]
            if not len(places):
                yield [], None, None, faults
                continue
            rows = self.rows[places]
            among, nearest = self.known.around(rows, self.others, neighbours)
            images = self.known.images(rows)
            captions = generator.generate_distinctive(images, among, nearest, beam, weight, judge)
            yield places.tolist(), images, captions, faults


def found_images(images: ImageInput | Iterable[ImageInput]) -> list[ImageInput]:
    """Images with every path expanded: a folder or a pattern gives all of its images."""
    found: list[ImageInput] = []
    for image in as_images(images)[0]:
        found += find_some_photos(image).photos if isinstance(image, str | os.PathLike) else [image]
    return found


def _identity(image: ImageInput) -> Hashable:
    return os.path.realpath(image) if isinstance(image, str | os.PathLike) else id(image)
