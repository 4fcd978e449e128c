"""Vectors and captions of photos without torch: the same methods as `search.embedder.Embedder`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tellapart.images.sources import ImageInput
from tellapart.inference.among_index import Compared
from tellapart.inference.caption_attention import CaptionAttention
from tellapart.inference.generated import GeneratedCaptions
from tellapart.inference.judging import Vectors, surroundings
from tellapart.inference.known_images import KnownImages
from tellapart.inference.light.captioning import LightCaptioner
from tellapart.inference.light.matching import LightMatcher
from tellapart.inference.remembered_vectors import RememberedVectors
from tellapart.search.embedded import BATCH, Embedded, Seen


class LightEmbedder:
    """A matcher, and a captioner if captions are needed. The backbone reads a photo once for both."""

    def __init__(
        self, matcher: LightMatcher, captioner: LightCaptioner | None = None, beam: int = 0, *, batch: int = BATCH
    ) -> None:
        self.matcher, self.captioner, self.beam, self.batch = matcher, captioner, beam, batch
        self.width, self.fingerprint = matcher.width, matcher.fingerprint
        self.extractor = matcher.extractor

    @property
    def has_captions(self) -> bool:
        """Whether there is a captioner."""
        return self.captioner is not None

    @property
    def attends(self) -> bool:
        """Whether captions have attention over parts of the image."""
        return self.has_captions

    def embed_photos(self, photos: Iterable[ImageInput]) -> Iterator[Embedded]:
        """Vectors, and captions if there is a captioner, batch by batch and in order."""
        for extracted in self.extractor.extract(photos, self.batch):
            if not extracted.places:
                yield Embedded([], np.zeros((0, self.width), np.float32), None, extracted.faults)
                continue
            vectors = self.matcher.encode_features(extracted.cells)
            if self.captioner is None:
                yield Embedded(extracted.places, vectors, None, extracted.faults)
                continue
            found = self.describe(extracted.cells, vectors)
            yield Embedded(extracted.places, vectors, found.texts, extracted.faults, found.confidence, found.sure)

    def embed_image(self, image: ImageInput) -> np.ndarray:
        """The vector of one image [E], or an UnreadableImage error."""
        return np.asarray(self.matcher.encode_features(self.extractor.extract_one(image))[0])

    def see(self, photos: Sequence[ImageInput]) -> Iterator[Seen]:
        """Vectors of photos and their cells, few calls for many."""
        for extracted in self.extractor.extract(photos, len(photos)):
            empty = np.zeros((0, self.width), np.float32)
            vectors = self.matcher.encode_features(extracted.cells) if extracted.places else empty
            yield Seen(extracted.places, vectors, extracted.cells, extracted.faults)

    def select(self, cells: np.ndarray, rows: Sequence[int]) -> np.ndarray:
        """The cells of some images, in the given order."""
        return cells[list(rows)]

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of texts [C, E]."""
        return self.matcher.encode_texts(texts)

    def describe(self, cells: np.ndarray, vectors: np.ndarray) -> GeneratedCaptions:
        """Captions of images, with confidence where the matcher was calibrated for it."""
        assert self.captioner is not None
        return self.captioner.describe(cells, self.matcher if self.captioner.is_bundled else None, vectors, self.beam)

    def chooser_vectors(self, known: KnownImages) -> RememberedVectors | None:
        """The vectors of the bundled chooser, where it chooses among photos of the index; None where the matcher
        does."""
        reads = self.captioner is not None and self.captioner.reads_index(known)
        return self.captioner.chooser_vectors if self.captioner is not None and reads else None

    def describe_apart(self, cells: np.ndarray, compared: Compared, neighbours: int) -> GeneratedCaptions:
        """Captions that tell images apart from the photos of the index that they are compared with."""
        assert self.captioner is not None
        if compared.by_chooser:
            return self.captioner.generate_compared(cells, compared, neighbours)
        around = surroundings(Vectors(compared.own), Vectors(compared.among), compared.nearest, neighbours)
        return self.captioner.generate_apart(cells, self.matcher, around)

    def attention_of(self, captions: GeneratedCaptions, cells: np.ndarray, row: int) -> CaptionAttention | None:
        """The attention of caption `row`."""
        assert self.captioner is not None
        judge = self.matcher if self.captioner.is_bundled else None
        return self.captioner.attention_of(captions, row, cells[row], judge)
