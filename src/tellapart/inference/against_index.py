"""Captions of images among the photos of an index: the index finds similar photos, the chooser reads and compares them.

The same with torch as `light.against_index` without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from tellapart.core.progress import Progress
from tellapart.core.types import Encoded, Images
from tellapart.images.sources import ImageInput
from tellapart.inference.against import CaptionedBatch, Neighbourhood, Readers
from tellapart.inference.among_index import Compared
from tellapart.inference.caption_generator import CaptionGenerator, GeneratedCaptions
from tellapart.inference.caption_settings import CaptionSettings
from tellapart.inference.index_batches import OwnImages, index_batches
from tellapart.inference.judge import Judge
from tellapart.inference.judging import Surroundings, surroundings
from tellapart.inference.known_images import KnownImages
from tellapart.inference.remembered_vectors import RememberedVectors


class IndexNeighbourhood:
    """The images to caption, and what each is compared with in an index of the bundled matcher."""

    def __init__(
        self,
        images: list[ImageInput],
        known: KnownImages,
        readers: Readers,
        vectors: RememberedVectors,
        settings: CaptionSettings,
        progress: Progress,
    ) -> None:
        self.readers, self.settings, self.known = readers, settings, known
        self.read = Neighbourhood(images, (), readers, settings.batch_size, progress)
        own = OwnImages(self.read.rows, self.read.known.faults, self._by_index, self._by_chooser)
        self.parts = index_batches(own, known, vectors, settings, progress)

    def batches(self, generator: CaptionGenerator) -> Iterator[CaptionedBatch]:
        """Captions of the images in the given order, and the faults of unreadable ones."""
        settings = self.settings
        for part in self.parts:
            if part.compared is None:
                yield CaptionedBatch([], None, None, part.faults)
                continue
            images = self.read.features.images(part.rows)
            captions = generate_compared(
                generator, images, self.readers, part.compared, settings.neighbours,
                beam=settings.beam, weight=settings.weight,
            )  # fmt: skip
            yield CaptionedBatch(
                part.places, images, captions, part.faults, part.names(self.known, settings.neighbours)
            )

    def _by_index(self, rows: np.ndarray) -> np.ndarray:
        assert self.readers.second is not None
        encoded = self.readers.second.encode_images(self.read.features.images(rows))
        return self.readers.second.image_vectors(encoded)

    def _by_chooser(self, rows: np.ndarray) -> np.ndarray:
        assert self.read.judged is not None and self.read.judged.vectors is not None
        return self.read.judged.vectors[torch.from_numpy(rows)].numpy()


def generate_compared(
    generator: CaptionGenerator,
    images: Images,
    readers: Readers,
    compared: Compared,
    neighbours: int,
    *,
    beam: int = 0,
    weight: float = 0.5,
) -> GeneratedCaptions:
    """Captions that tell images apart from photos of an index, chosen by the chooser; the bundled matcher chooses where
    the chooser could read none of these."""
    judge, second = (readers.judge, readers.second) if compared.by_chooser else (readers.second, None)
    assert judge is not None
    return generator.generate_apart(images, judge, around(judge, compared, neighbours), beam, weight, second)


def around(judge: Judge, compared: Compared, neighbours: int) -> Surroundings:
    """Images and the photos that they are compared with, as the judge encodes them."""
    own, among = (Encoded(torch.from_numpy(part).to(judge.device)) for part in (compared.own, compared.among))
    return surroundings(own, among, compared.nearest, neighbours)


def vectors_by(readers: Readers) -> RememberedVectors:
    """The vectors of photos by a judge, which reads them."""
    judge, extractor = readers.judge, readers.own or readers.captioner
    assert judge is not None

    def encode(images: Sequence[ImageInput]) -> Iterator[tuple[list[int], np.ndarray, int]]:
        for extracted in extractor.extract(images) if images else ():
            none = np.zeros((0, judge.width), np.float32)
            vectors = judge.image_vectors(judge.encode_images(extracted.images)) if extracted.places else none
            yield extracted.places, vectors, len(extracted.faults)

    return RememberedVectors(encode)
