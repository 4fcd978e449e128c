"""A matcher at work on photos and sentences: one vector each, and a caption beside it where a captioner is given."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat, tee
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from tellapart.core.errors import InputError
from tellapart.core.protocols import Matcher
from tellapart.core.types import Images
from tellapart.inference.caption_generator import open_caption_generator
from tellapart.inference.feature_extractor import FeatureExtractor, Look, Looked, look_of
from tellapart.models.matchers.scores import unit
from tellapart.runs.run import open_run
from tellapart.search.sentences import as_texts

BATCH, CAPTION_BEAM = 64, 3


@dataclass(frozen=True)
class Embedded:
    """Some photos' vectors; a photo that could not be read has a fault instead."""

    places: list[int]  # [N] places in the list that was asked for
    vectors: np.ndarray  # [N, E] float32 of length one
    captions: list[str] | None
    faults: dict[int, str]


class Embeds(Protocol):
    """What an index is filled by."""

    fingerprint: str
    """Equal for equal weights: vectors of two fingerprints cannot be compared."""
    width: int

    def photos(self, paths: Iterable[Path]) -> Iterator[Embedded]: ...

    def words(self, sentences: Sequence[str]) -> np.ndarray: ...


class Embedder:
    """A matcher's run, and a captioner's where captions are wanted, opened to look at photos. Each photo is decoded and
    shown to the backbone once where both see it the same way."""

    def __init__(
        self,
        matcher: str,
        captioner: str = "",
        device: torch.device | str = "cpu",
        workers: int = 0,
        beam: int = CAPTION_BEAM,
    ) -> None:
        self.run = open_run(matcher, device=device)
        self.device, self.beam = torch.device(device), beam
        if not isinstance(self.run.model, Matcher):
            raise InputError(
                f"{self.run.folder} is a {self.run.recipe.name} run, which matches nothing; give --matcher."
            )
        self.model: Matcher = self.run.model
        self.look = look_of(self.run.data["features"], self.run.folder)
        self.width = self._width()
        self.fingerprint = fingerprint(self.run.folder)
        self.generator = open_caption_generator(captioner, device) if captioner else None
        seen = (
            self.generator.look if self.generator is not None and _serves(self.generator.look, self.look) else self.look
        )
        self.extractor = FeatureExtractor(seen, device, workers)
        apart = self.generator is not None and self.generator.look != seen
        self.caption_extractor = (
            FeatureExtractor(self.generator.look, device, workers) if self.generator and apart else None
        )

    def photos(self, paths: Iterable[Path]) -> Iterator[Embedded]:
        """Vectors, and captions where there is a captioner, a batch at a time and in order."""
        own, others = tee(paths)
        shown: Iterator[Looked | None] = repeat(None)
        if self.caption_extractor is not None:  # the captioner looks in its own way, at the same photos in step
            shown = self.caption_extractor.look_at(others, BATCH)
        else:
            del others
        for looked, told_by in zip(self.extractor.look_at(own, BATCH), shown):
            if not looked.photos:
                yield Embedded([], np.zeros((0, self.width), np.float32), None, looked.faults)
                continue
            captions = None if self.generator is None else self._tell((told_by or looked).images)
            yield Embedded(looked.photos, self._vectors(looked.images), captions, looked.faults)

    def image(self, path: Path) -> np.ndarray:
        """One photo's vector [E], or an InputError that says why not."""
        return self._vectors(self.extractor.images(path))[0]

    def shown(self, path: Path) -> tuple[np.ndarray, Images]:
        """One photo's vector [E], and the photo [1, R, D] as the captioner (or, without one, the matcher) sees it."""
        images = self.extractor.images(path)
        vector = self._vectors(images)[0]
        return vector, images if self.caption_extractor is None else self.caption_extractor.images(path)

    @torch.inference_mode()
    def words(self, sentences: Sequence[str]) -> np.ndarray:
        """Sentences' vectors [C, E]."""
        texts = as_texts(self.run, sentences, self.device)
        return unit(self.model.encode_text(texts).vectors).float().cpu().numpy()

    @torch.inference_mode()
    def _vectors(self, images: Images) -> np.ndarray:
        if self.look.kind == "vector" and images.features.shape[1] > 1:
            images = Images(images.pooled().unsqueeze(1), images.mask[:, :1])
        return unit(self.model.encode_image(images).vectors).float().cpu().numpy()

    @torch.inference_mode()
    def _tell(self, images: Images) -> list[str]:
        assert self.generator is not None
        return self.generator.tell(images, self.beam).texts

    @torch.inference_mode()
    def _width(self) -> int:
        empty = torch.zeros(1, self.look.rows, self.look.width, device=self.device)
        mask = torch.ones(1, self.look.rows, dtype=torch.bool, device=self.device)
        vectors = self.model.encode_image(Images(empty, mask)).vectors
        if vectors.dim() != 2:
            raise InputError(
                f"{self.run.folder} gives an image many vectors, and an index holds one; index with a matcher that "
                f"gives one (vse++, convse, …) and let this run order what is found: `tellapart search --rerank "
                f"{self.run.folder}`."
            )
        return int(vectors.shape[1])


def _serves(captioner: Look, matcher: Look) -> bool:
    """Whether what the captioner sees is enough for the matcher: the same, or the grid whose mean the matcher reads."""
    if captioner == matcher:
        return True
    same = (captioner.backbone, captioner.resize, captioner.preprocessing) == (
        matcher.backbone,
        matcher.resize,
        matcher.preprocessing,
    )
    return (
        same and matcher.kind == "vector" and captioner.kind == "grid" and matcher.backbone.startswith("efficientnet")
    )


def fingerprint(run: Path) -> str:
    """Of the weights and of what feeds them. A hash of the bytes, so that a run may be moved or copied."""
    digest = hashlib.sha256()
    for name in ("model.safetensors", "vocabulary.json"):
        with (run / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:32]
