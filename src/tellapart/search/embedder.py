"""Vectors of photos and texts for an index, and captions if there is a captioner."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, repeat, tee
from typing import Protocol

import numpy as np
import torch

from tellapart.core.types import Encoded, Images
from tellapart.images.sources import ImageInput
from tellapart.images.verified_file import VerifiedFile
from tellapart.inference.caption_generator import BEAM, CaptionGenerator, GeneratedCaptions, with_confidence
from tellapart.inference.captioning import PhotoCaptioner, load_captioner
from tellapart.inference.feature_extractor import Extracted
from tellapart.inference.feature_spec import serves
from tellapart.inference.judge import Judge, open_judge
from tellapart.inference.matching import PhotoMatcher, load_matcher
from tellapart.inference.own_extractor import OwnExtractor

BATCH = 64


@dataclass(frozen=True)
class Embedded:
    """Vectors of some photos; an unreadable photo has a fault instead."""

    places: list[int]  # [N] positions in the given list
    vectors: np.ndarray  # [N, E] float32 of length one
    captions: list[str] | None
    faults: dict[int, str]
    confidence: list[float] | None = None
    """Probability that each caption is true; None for models that it was not calibrated for."""
    sure: list[bool] | None = None
    """Whether the confidence reaches its threshold."""


class Embeds(Protocol):
    """What fills an index."""

    fingerprint: str
    """Equal for equal weights: vectors with different fingerprints cannot be compared."""
    width: int

    def embed_photos(self, photos: Iterable[VerifiedFile]) -> Iterator[Embedded]:
        """Vectors of photos, batch by batch and in order."""
        ...

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of texts [C, E]."""
        ...


class Embedder:
    """A matcher, and a captioner if captions are needed. A photo is decoded and encoded by the backbone once if the
    features of the captioner serve the matcher."""

    def __init__(self, matcher: PhotoMatcher, captioner: PhotoCaptioner | None = None, beam: int = BEAM) -> None:
        self.matcher, self.captioner, self.beam = matcher, captioner, beam
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
            for_captions = self.caption_extractor.extract(others, BATCH)
        else:
            del others
        for extracted, other in zip(self.extractor.extract(own, BATCH), for_captions):
            if other is not None and other.places != extracted.places:  # a file changed between the two
                extracted, other = _of_both(extracted, other)
            if not extracted.places:
                yield Embedded([], np.zeros((0, self.width), np.float32), None, extracted.faults)
                continue
            vectors = self.matcher.encode_features(extracted.images)
            if self.generator is None:
                yield Embedded(extracted.places, vectors, None, extracted.faults)
                continue
            described = self._captions((other or extracted).images, vectors)
            yield Embedded(
                extracted.places, vectors, described.texts, extracted.faults, described.confidence, described.sure
            )

    def _embed_apart(self, photos: Iterable[ImageInput], for_captions: OwnExtractor) -> Iterator[Embedded]:
        """The same with a captioner whose batches may differ from the matcher's: each batch of vectors is captioned."""
        own, kept = tee(photos)
        seen = 0
        for extracted in self.extractor.extract(own, BATCH):
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
        for extracted in for_captions.extract(photos, BATCH):
            faults |= extracted.faults
            if extracted.places:
                assert self.generator is not None
                with torch.inference_mode():
                    texts = self.generator.generate(extracted.images, self.beam).texts
                captions |= dict(zip(extracted.places, texts))
        return captions, faults

    def embed_image(self, image: ImageInput) -> np.ndarray:
        """The vector of one image [E], or an UnreadableImage error."""
        return np.asarray(self.matcher.encode_features(self.extractor.extract_one(image))[0])

    def embed_with_features(self, image: ImageInput) -> tuple[np.ndarray, Images]:
        """The vector of one image [E], and its features [1, R, D] for the captioner (or, without one, the matcher)."""
        images = self.extractor.extract_one(image)
        vector = np.asarray(self.matcher.encode_features(images)[0])
        return vector, images if self.caption_extractor is None else self.caption_extractor.extract_one(image)

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of texts [C, E]."""
        return self.matcher.encode_texts(texts)

    @torch.inference_mode()
    def _captions(self, images: Images, vectors: np.ndarray) -> GeneratedCaptions:
        """Captions of the captioner's features, with confidence where the matcher was calibrated for it."""
        assert self.generator is not None
        captions = self.generator.generate(images, self.beam)
        if self.judge is None:
            return captions
        return with_confidence(captions, self.judge, Encoded(torch.from_numpy(vectors).to(self.judge.device)))


def _of_both(one: Extracted, other: Extracted) -> tuple[Extracted, Extracted]:
    """The photos that both could read; the others have a fault in both."""
    places = sorted(set(one.places) & set(other.places))
    faults = {**one.faults, **other.faults}

    def kept(some: Extracted) -> Extracted:
        rows = torch.tensor([some.places.index(place) for place in places], dtype=torch.long)
        return Extracted(places, some.images.select(rows.to(some.images.features.device)), faults)

    return kept(one), kept(other)


def open_embedder(matcher: str, captioner: str = "", device: str = "cpu", workers: int = 0) -> Embedder:
    """An embedder of a matcher's run and, unless the name is empty, a captioner's run."""
    opened = load_captioner(captioner, device, workers) if captioner else None
    return Embedder(load_matcher(matcher, device, workers), opened)
