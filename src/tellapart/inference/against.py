"""Captions of images among other images, whose neighbours are found by one vector each. An image is read once, or twice
if the judge reads other features than the captioner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tellapart.core.progress import Progress
from tellapart.core.types import Images
from tellapart.images.sources import ImageInput, name_of
from tellapart.inference.caption_generator import CaptionGenerator, GeneratedCaptions
from tellapart.inference.feature_extractor import Extracted, FeatureExtractor
from tellapart.inference.found_images import found_images, identity
from tellapart.inference.judge import Judge
from tellapart.inference.judged_images import JudgedImages
from tellapart.inference.judging import COMPARED, surroundings
from tellapart.inference.known_images import KnownImages, checked_for
from tellapart.inference.neighbours import KeptInputs, NeighbourFinder, numbered, stored_features
from tellapart.inference.own_extractor import OwnExtractor


@dataclass(frozen=True)
class CaptionedBatch:
    """Some images with their captions, in the given order."""

    places: list[int]  # [I] positions in the given list
    images: Images | None  # features [I, R, D]; None without a readable image
    captions: GeneratedCaptions | None
    faults: dict[int, str]
    """Why each unreadable image has no caption."""
    neighbours: Sequence[Sequence[str | None]] = ()
    """Names of the images that each was compared with, most similar first."""


@dataclass(frozen=True)
class Readers:
    """What reads images: the captioner's extractor, and a judge with its own if the captioner's does not serve it."""

    captioner: FeatureExtractor | OwnExtractor
    judge: Judge | None = None
    """None: the captioner itself scores how well a caption identifies its image."""
    own: FeatureExtractor | OwnExtractor | None = None
    second: Judge | None = None
    """Another judge by the captioner's features: it chooses plain captions and must support the words of the others."""


class Neighbourhood:
    """The images to caption, which come first, and those to compare with; an image may be both.

    With a judge of single vectors, an image to compare with is kept as one vector: its features are not needed again.
    """

    def __init__(
        self,
        images: list[ImageInput],
        against: ImageInput | Iterable[ImageInput] | KnownImages,
        readers: Readers,
        batch_size: int,
        progress: Progress,
    ) -> None:
        self.readers, self.judge, self.batch_size = readers, readers.judge, batch_size
        known = checked_for(against, self.judge) if isinstance(against, KnownImages) else None
        others = found_images(against) if not isinstance(against, KnownImages) else []
        everything = {identity(image): image for image in (*images, *others)}
        row = {identity: number for number, identity in enumerate(everything)}
        self.names = [name_of(image) for image in everything.values()] + list(known.names if known else ())
        self.rows = np.asarray([row[identity(image)] for image in images], np.int64)
        rows = np.asarray([row[identity(image)] for image in others], np.int64)
        spec = readers.captioner.spec
        self.kept = int(self.rows.max(initial=-1)) + 1 if self.judge else len(everything)
        """Images whose features are kept."""
        self.features = stored_features(self.kept, spec, readers.captioner.device)
        if isinstance(self.features, KeptInputs):
            self.batch_size = 1  # inputs of different shapes
        self.judged = None if self.judge is None else JudgedImages(self.judge, len(self.names))
        by_judge = self.judge is not None and self.judge.has_vectors
        width = (
            self.judge.width if self.judge is not None and by_judge else (readers.own or readers.captioner).spec.width
        )
        self.known = NeighbourFinder(len(self.names), width, readers.captioner.device)
        self._read(list(everything.values()), progress)
        if known is not None:
            rows = np.arange(len(everything), len(self.names))
            self._add_known(rows.tolist(), known)
        self.others = rows[self.known.readable[rows]]

    def batches(
        self, generator: CaptionGenerator, neighbours: int, weight: float, beam: int
    ) -> Iterator[CaptionedBatch]:
        """Captions of the images in the given order, and the faults of unreadable ones."""
        for first in range(0, len(self.rows), self.batch_size):
            places = np.arange(first, min(first + self.batch_size, len(self.rows)))
            readable = self.known.readable[self.rows[places]]
            faults = {int(place): self.known.faults[int(self.rows[place])] for place in places[~readable]}
            places = places[readable]
            if not len(places):
                yield CaptionedBatch([], None, None, faults)
                continue
            rows = self.rows[places]
            wide = self.judge is not None and self.judge.evidence is not None
            count = max(COMPARED, neighbours) if wide else neighbours
            found = self.known.around(rows, self.others, count)  # [I, M + L]
            used, nearest = numbered(found)
            nearest, images = nearest.to(self.known.device), self.features.images(rows)
            if self.judge is None or self.judged is None:
                captions = generator.generate_distinctive(images, self.features.images(used), nearest, beam, weight)
            else:
                own, among = self.judged.encoded(rows), self.judged.encoded(used)
                around = surroundings(own, among, nearest.cpu().numpy(), neighbours)
                captions = generator.generate_apart(images, self.judge, around, beam, weight, self.readers.second)
            names = [[self.names[row] for row in line] for line in found[:, :neighbours].tolist()]
            yield CaptionedBatch(places.tolist(), images, captions, faults, names)

    def _add_known(self, places: list[int], known: KnownImages) -> None:
        vectors = torch.from_numpy(np.asarray(known.vectors, np.float32))
        assert self.judged is not None and self.judged.vectors is not None
        self.judged.vectors[places] = vectors
        self.known.add(places, vectors)

    def _read(self, everything: list[ImageInput], progress: Progress) -> None:
        apart = self.readers.own
        with progress.bar(len(everything) + (self.kept if apart else 0), "extracting features") as advance:
            if apart is not None:
                for extracted in self.readers.captioner.extract(everything[: self.kept], self.batch_size):
                    self._keep_features(extracted)
                    advance(len(extracted.places) + len(extracted.faults))
            for extracted in (apart or self.readers.captioner).extract(everything, self.batch_size):
                if apart is None:
                    self._keep_features(extracted)
                self._keep_vectors(extracted)
                advance(len(extracted.places) + len(extracted.faults))

    def _keep_features(self, extracted: Extracted) -> None:
        kept = [number for number, place in enumerate(extracted.places) if place < self.kept]
        if kept:
            images = extracted.images.select(torch.tensor(kept, device=extracted.images.features.device))
            self.features.add([extracted.places[number] for number in kept], images)

    def _keep_vectors(self, extracted: Extracted) -> None:
        vectors = extracted.images.pooled()
        if extracted.places and self.judged is not None:
            self.judged.add(extracted.places, extracted.images)
            if self.judged.vectors is not None:
                vectors = self.judged.vectors[extracted.places]
        self.known.add(extracted.places, vectors, extracted.faults)
