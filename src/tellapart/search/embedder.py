"""Vectors of photos and texts for an index, and captions if there is a captioner."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, repeat, tee

import numpy as np
import torch

from tellapart.core.types import Images
from tellapart.images.sources import ImageInput
from tellapart.inference.against_index import around, generate_compared
from tellapart.inference.among_index import Compared
from tellapart.inference.attention import attention_of_caption, pointing_attention
from tellapart.inference.caption_attention import CaptionAttention
from tellapart.inference.caption_generator import BEAM, CaptionGenerator, GeneratedCaptions
from tellapart.inference.captioning import PhotoCaptioner
from tellapart.inference.feature_extractor import Extracted
from tellapart.inference.feature_spec import serves
from tellapart.inference.judge import Judge, open_judge
from tellapart.inference.judging import second_of
from tellapart.inference.known_images import KnownImages
from tellapart.inference.matching import PhotoMatcher
from tellapart.inference.own_extractor import OwnExtractor
from tellapart.inference.remembered_vectors import RememberedVectors
from tellapart.search.embedded import BATCH, Embedded, Seen


class Embedder:
    """A matcher, and a captioner if captions are needed. A photo is decoded and encoded by the backbone once if the
    features of the captioner serve the matcher."""

    def __init__(
        self, matcher: PhotoMatcher, captioner: PhotoCaptioner | None = None, beam: int = 0, *, batch: int = BATCH
    ) -> None:
        self.matcher, self.captioner, self.beam, self.batch = matcher, captioner, beam, batch
        self.width, self.fingerprint = matcher.width, matcher.fingerprint
        shared = captioner is not None and serves(captioner.generator.spec, matcher.spec)
        self.extractor = captioner.extractor if captioner is not None and shared else matcher.extractor
        self.caption_extractor = None if captioner is None or shared else captioner.extractor

    @property
    def generator(self) -> CaptionGenerator | None:
        """The generator of captions; None without a captioner."""
        return None if self.captioner is None else self.captioner.generator

    @functools.cached_property
    def judge(self) -> Judge | None:
        """The matcher as judge of the captioner's captions; None for a captioner without calibrated confidence."""
        return open_judge(self.matcher) if self.captioner is not None and self.captioner.is_bundled else None

    def embed_photos(self, photos: Iterable[ImageInput]) -> Iterator[Embedded]:
        """Vectors, and captions if there is a captioner, batch by batch and in order."""
        if isinstance(self.caption_extractor, OwnExtractor):
            yield from self._embed_apart(photos, self.caption_extractor)
            return
        own, others = tee(photos)
        for_captions: Iterator[Extracted | None] = repeat(None)
        if self.caption_extractor is not None:  # the captioner needs other features of the same photos
            for_captions = self.caption_extractor.extract(others, self.batch)
        else:
            del others
        for extracted, other in zip(self.extractor.extract(own, self.batch), for_captions):
            if other is not None and other.places != extracted.places:  # a file changed between the two
                extracted, other = _of_both(extracted, other)
            if not extracted.places:
                yield Embedded([], np.zeros((0, self.width), np.float32), None, extracted.faults)
                continue
            vectors = self.matcher.encode_features(extracted.images)
            if self.generator is None:
                yield Embedded(extracted.places, vectors, None, extracted.faults)
                continue
            described = self.describe((other or extracted).images, vectors)
            yield Embedded(
                extracted.places, vectors, described.texts, extracted.faults, described.confidence, described.sure
            )

    def _embed_apart(self, photos: Iterable[ImageInput], for_captions: OwnExtractor) -> Iterator[Embedded]:
        """The same with a captioner whose batches may differ from the matcher's: each batch of vectors is captioned."""
        own, kept = tee(photos)
        seen = 0
        for extracted in self.extractor.extract(own, self.batch):
            count = len(extracted.places) + len(extracted.faults)
            batch = dict(enumerate(islice(kept, count), seen))
            seen += count
            captions, faults = self._caption_all([batch[place] for place in extracted.places], for_captions)
            lost = {extracted.places[row]: fault for row, fault in faults.items()}
            rows = [row for row, place in enumerate(extracted.places) if place not in lost]
            places = [extracted.places[row] for row in rows]
            if not places:
                yield Embedded([], np.zeros((0, self.width), np.float32), None, {**extracted.faults, **lost})
                continue
            vectors = self.matcher.encode_features(extracted.images)[rows]
            yield Embedded(places, vectors, [captions[row] for row in rows], {**extracted.faults, **lost})

    def _caption_all(
        self, photos: list[ImageInput], for_captions: OwnExtractor
    ) -> tuple[dict[int, str], dict[int, str]]:
        """Captions and faults by position."""
        captions: dict[int, str] = {}
        faults: dict[int, str] = {}
        for extracted in for_captions.extract(photos, self.batch):
            faults |= extracted.faults
            if extracted.places:
                assert self.generator is not None
                with torch.inference_mode():
                    texts = self.generator.generate(extracted.images, self.beam or BEAM).texts
                captions |= dict(zip(extracted.places, texts))
        return captions, faults

    def embed_image(self, image: ImageInput) -> np.ndarray:
        """The vector of one image [E], or an UnreadableImage error."""
        return np.asarray(self.matcher.encode_features(self.extractor.extract_one(image))[0])

    def see(self, photos: Sequence[ImageInput]) -> Iterator[Seen]:
        """Vectors of photos and their features for the captioner (or, without one, the matcher), few calls for many."""
        vectors: dict[int, np.ndarray] = {}
        for extracted in self.extractor.extract(photos, len(photos)):
            encoded = self.matcher.encode_features(extracted.images) if extracted.places else np.zeros((0, self.width))
            if self.caption_extractor is None:
                yield Seen(extracted.places, encoded, extracted.images, extracted.faults)
                continue
            vectors |= dict(zip(extracted.places, encoded))
            yield Seen([], encoded[:0], extracted.images, extracted.faults)
        if self.caption_extractor is None:
            return
        for other in self.caption_extractor.extract(photos, len(photos)):  # may group photos in other batches
            rows = [row for row, place in enumerate(other.places) if place in vectors]
            places = [other.places[row] for row in rows]
            own = np.asarray([vectors[place] for place in places], np.float32).reshape(-1, self.width)
            yield Seen(places, own, self.select(other.images, rows), other.faults)

    def select(self, images: Images, rows: Sequence[int]) -> Images:
        """Some of the images, in the given order."""
        return images.select(torch.tensor(rows, dtype=torch.long, device=images.features.device))

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of texts [C, E]."""
        return self.matcher.encode_texts(texts)

    @property
    def has_captions(self) -> bool:
        """Whether there is a captioner."""
        return self.captioner is not None

    @property
    def attends(self) -> bool:
        """Whether captions have attention over parts of the image."""
        return self.generator is not None and self.generator.attends

    def chooser_vectors(self, known: KnownImages) -> RememberedVectors | None:
        """The vectors of the bundled chooser, where it chooses among photos of the index; None where the matcher
        does."""
        reads = self.captioner is not None and self.captioner.reads_index(known)
        return self.captioner.chooser_vectors if self.captioner is not None and reads else None

    @torch.inference_mode()
    def describe_apart(self, images: Images, compared: Compared, neighbours: int) -> GeneratedCaptions:
        """Captions that tell images apart from the photos of the index that they are compared with."""
        assert self.generator is not None and self.captioner is not None
        if compared.by_chooser:
            return generate_compared(self.generator, images, self.captioner.chooser_readers, compared, neighbours)
        judge = open_judge(self.matcher)
        second = second_of(judge, self.captioner.judge if self.captioner.is_bundled else None)
        return self.generator.generate_apart(images, judge, around(judge, compared, neighbours), second=second)

    def attention_of(self, captions: GeneratedCaptions, images: Images, row: int) -> CaptionAttention | None:
        """The attention of caption `row` over image `row`; None for a captioner without attention."""
        assert self.generator is not None
        if not self.generator.attends:
            return None
        found = attention_of_caption(captions.decoded, images, row, self.generator.run.vocabulary)
        return pointing_attention(found, images, row, self.judge)

    @torch.inference_mode()
    def describe(self, images: Images, vectors: np.ndarray) -> GeneratedCaptions:
        """Captions of the captioner's features, with confidence where the matcher was calibrated for it."""
        assert self.generator is not None
        if self.judge is None:
            return self.generator.generate(images, self.beam or BEAM)
        return self.generator.describe(images, self.judge, torch.from_numpy(vectors).to(self.judge.device), self.beam)


def _of_both(one: Extracted, other: Extracted) -> tuple[Extracted, Extracted]:
    """The photos that both could read; the others have a fault in both."""
    places = sorted(set(one.places) & set(other.places))
    faults = {**one.faults, **other.faults}

    def kept(some: Extracted) -> Extracted:
        rows = torch.tensor([some.places.index(place) for place in places], dtype=torch.long)
        return Extracted(places, some.images.select(rows.to(some.images.features.device)), faults)

    return kept(one), kept(other)
