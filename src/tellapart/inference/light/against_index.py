"""Captions of images among the photos of an index, without torch: the index finds similar photos, the chooser reads
and compares them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tellapart.core.progress import Progress
from tellapart.core.threads import in_order
from tellapart.images.sources import ImageInput
from tellapart.inference.caption_settings import CaptionSettings
from tellapart.inference.index_batches import IndexBatch, OwnImages, index_batches
from tellapart.inference.known_images import KnownImages
from tellapart.inference.light.against import LightBatch, LightNeighbourhood
from tellapart.inference.light.matching import LightMatcher
from tellapart.inference.remembered_vectors import RememberedVectors

if TYPE_CHECKING:
    from tellapart.inference.light.captioning import LightCaptioner


class LightIndexNeighbourhood:
    """The images to caption, and what each is compared with in an index of the bundled matcher."""

    def __init__(
        self,
        images: list[ImageInput],
        known: KnownImages,
        captioner: LightCaptioner,
        settings: CaptionSettings,
        progress: Progress,
    ) -> None:
        assert captioner.judge is not None and captioner.chooser is not None
        self.captioner, self.settings, self.known, judge = captioner, settings, known, captioner.judge
        self.read = LightNeighbourhood(
            images, (), captioner.extractor, captioner.chooser, settings.batch_size, progress
        )
        own = OwnImages(
            self.read.rows,
            self.read.faults,
            by_index=lambda rows: judge.encode_features(self.read.cells_of(rows)),
            by_chooser=lambda rows: self.read.vectors[rows],
        )
        self.parts = index_batches(own, known, captioner.chooser_vectors, settings, progress)

    def batches(self) -> Iterator[LightBatch]:
        """Captions of the images in the given order, and the faults of unreadable ones; one thread per core."""
        assert self.captioner.chooser is not None
        self.captioner.open(self.captioner.chooser)
        return in_order(self._batch, self.parts, self.captioner.extractor.workers if len(self.parts) > 1 else 1)

    def _batch(self, part: IndexBatch) -> LightBatch:
        if part.compared is None:
            return LightBatch([], None, part.faults)
        cells, settings = self.read.cells_of(part.rows), self.settings
        captions = self.captioner.generate_compared(
            cells, part.compared, settings.neighbours, settings.beam, settings.weight
        )
        return LightBatch(part.places, captions, part.faults, part.names(self.known, settings.neighbours), cells)


def vectors_by(chooser: LightMatcher) -> RememberedVectors:
    """A matcher's vectors of photos, which it reads."""

    def encode(images: Sequence[ImageInput]) -> Iterator[tuple[list[int], np.ndarray, int]]:
        for extracted in chooser.extractor.extract(images) if images else ():
            vectors = chooser.encode_features(extracted.cells) if extracted.places else np.zeros((0, chooser.width))
            yield extracted.places, vectors, len(extracted.faults)

    return RememberedVectors(encode)
