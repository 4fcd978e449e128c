"""Matching photos and texts: `load_matcher` gives a `PhotoMatcher` that encodes both into one vector space."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable

import numpy as np
import torch

from tellapart.core.device import usable_device
from tellapart.core.errors import InputError
from tellapart.core.progress import progress_bar
from tellapart.core.protocols import Matcher
from tellapart.core.types import Encoded, Images
from tellapart.images.opening import UnreadableImage
from tellapart.images.sources import ImageInput, as_images
from tellapart.inference.feature_extractor import FeatureExtractor
from tellapart.inference.feature_spec import as_needed
from tellapart.inference.own_extractor import OwnExtractor, spec_of
from tellapart.models.matchers.scores import unit
from tellapart.runs.bundled import run_name
from tellapart.runs.fingerprint import fingerprint
from tellapart.runs.own_processing import compiled, has_own_processor, prepared
from tellapart.runs.run import Run, open_run
from tellapart.runs.texts import as_texts

TEXT_BATCH = 256

ImageInputs = ImageInput | Iterable[ImageInput]


class PhotoMatcher:
    """Encodes images and texts as vectors whose cosine says how well they match.

    Images are paths, open files, PIL images or arrays [H, W, 3] of uint8, one or many.
    """

    def __init__(self, run: Run, device: torch.device | str = "cpu", workers: int = 0, precision: str = "auto") -> None:
        if not isinstance(run.model, Matcher):
            raise InputError(f"{run.what}, not a matcher; give a matcher's run, or hf:FOLDER of one.")
        prepared(run, precision)
        self.run, self.model = run, run.model
        self.device, self.workers, self.precision = torch.device(device), workers, precision
        self.spec = spec_of(run)

    def encode_images(self, images: ImageInputs, *, batch_size: int = 32, progress: bool = False) -> np.ndarray:
        """Vectors of length one [N, D], float32; one image gives [1, D].

        >>> import numpy as np, tellapart as ta
        >>> red = np.full((64, 64, 3), (255, 0, 0), np.uint8)
        >>> ta.load_matcher().encode_images(red).shape
        (1, 512)
        """
        self.width  # noqa: B018 - raises if the matcher has no single vector per image
        parts = [vectors(encoded) for encoded in self._encoded(images, batch_size, progress)]
        return np.concatenate(parts) if parts else np.zeros((0, self.width), np.float32)

    def encode_texts(self, texts: str | Iterable[str]) -> np.ndarray:
        """Vectors of length one [N, D], float32; one text gives [1, D]."""
        self.width  # noqa: B018 - raises if the matcher has no single vector per text
        parts = [vectors(encoded) for encoded in self._encoded_texts(texts)]
        return np.concatenate(parts) if parts else np.zeros((0, self.width), np.float32)

    def similarity(
        self,
        images: ImageInputs,
        texts: str | Iterable[str] | np.ndarray,
        *,
        batch_size: int = 32,
        progress: bool = False,
    ) -> np.ndarray:
        """Scores of every image with every text [N, M]: the cosine, or the matcher's own score if it has no vectors.

        Both may also be given as the vectors that `encode_images` and `encode_texts` return.
        """
        if is_vectors(images) or is_vectors(texts) or self.has_vectors:
            ours = (
                images if is_vectors(images) else self.encode_images(images, batch_size=batch_size, progress=progress)
            )
            theirs = texts if is_vectors(texts) else self.encode_texts(texts)
            return np.asarray(ours @ theirs.T)  # type: ignore[union-attr]
        columns = list(self._encoded_texts(texts))
        rows = [
            np.concatenate([self.model.score(encoded, text).float().cpu().numpy() for text in columns], 1)
            for encoded in self._encoded(images, batch_size, progress)
        ]
        return np.concatenate(rows)

    @functools.cached_property
    def width(self) -> int:
        """Length D of a vector; InputError for a matcher that gives many vectors per image."""
        shape = self._probe
        if len(shape) != 2:
            raise InputError(
                f"{self.run.folder} gives many vectors per image, so it has no single vector to compare or index. Use "
                "`similarity`, or give it to a search as `rerank`."
            )
        return shape[1]

    @property
    def has_vectors(self) -> bool:
        """Whether an image and a text are one vector each."""
        return len(self._probe) == 2

    @functools.cached_property
    def fingerprint(self) -> str:
        """Equal for equal weights: vectors of matchers with different fingerprints cannot be compared."""
        return fingerprint(self.run.folder)

    @functools.cached_property
    def extractor(self) -> FeatureExtractor | OwnExtractor:
        """The backbone, loaded when the first image is encoded."""
        if has_own_processor(self.run):
            return OwnExtractor(self.run, self.spec, self.device, self.workers)
        return FeatureExtractor(self.spec, self.device, self.workers, self.precision)

    @torch.inference_mode()
    def encode_features(self, images: Images) -> np.ndarray:
        """Vectors of length one [N, D] from features that serve this matcher."""
        return vectors(self.model.encode_image(as_needed(images, self.spec)))

    @functools.cached_property
    def _probe(self) -> tuple[int, ...]:
        """Shape of the encoding of one image."""
        empty = torch.zeros(1, self.spec.rows, self.spec.width, device=self.device)
        mask = torch.ones(1, self.spec.rows, dtype=torch.bool, device=self.device)
        with torch.inference_mode():
            return tuple(self.model.encode_image(Images(empty, mask)).vectors.shape)

    @torch.inference_mode()
    def _encoded(self, images: ImageInputs, batch_size: int, progress: bool) -> list[Encoded]:
        if batch_size < 1:
            raise InputError(f"`batch_size` must be at least 1, not {batch_size}.")
        given, _ = as_images(images)
        encoded: list[Encoded] = []
        if not given:
            return encoded
        with progress_bar(len(given), "encoding", enabled=progress) as advance:
            for extracted in self.extractor.extract(given, batch_size):
                if extracted.faults:
                    raise UnreadableImage(f"{next(iter(extracted.faults.values()))}.")
                encoded.append(self.model.encode_image(as_needed(extracted.images, self.spec)))
                advance(len(extracted.places))
        return encoded

    @torch.inference_mode()
    def _encoded_texts(self, texts: str | Iterable[str]) -> list[Encoded]:
        given = [texts] if isinstance(texts, str) else list(texts)
        if wrong := next((text for text in given if not isinstance(text, str)), None):
            raise InputError(f"`texts` must be strings, not {type(wrong).__name__}.")
        pieces = (given[first : first + TEXT_BATCH] for first in range(0, len(given), TEXT_BATCH))
        return [self.model.encode_text(as_texts(self.run, piece, self.device)) for piece in pieces]


def vectors(encoded: Encoded) -> np.ndarray:
    """Vectors of length one [N, D], float32."""
    return np.asarray(unit(encoded.vectors).float().cpu().numpy())


def is_vectors(value: object) -> bool:
    """Whether a value is a matrix of vectors, unlike an image, which has whole numbers."""
    return isinstance(value, np.ndarray) and value.ndim == 2 and np.issubdtype(value.dtype, np.floating)


def load_matcher(
    model: str | os.PathLike[str] = "bundled",
    device: str = "auto",
    workers: int = 0,
    precision: str = "auto",
    *,
    compile: bool = False,
) -> PhotoMatcher:
    """Open a matcher: the bundled one, the folder of a trained run, or a dual encoder of transformers (`hf:FOLDER`).

    device: cpu, cuda, …; auto uses an accelerator if there is one.
    workers: threads that open images, 0 for one per core.
    precision: of the backbone: float32, bfloat16, or auto, which is bfloat16 on CPUs with instructions for it. Models
    of transformers take float16 too, and auto is float32 for them.
    compile: compile a model of transformers (torch.compile), which takes a minute and pays for many images.

    >>> import tellapart as ta
    >>> matcher = ta.load_matcher()
    >>> a, b, c = matcher.encode_texts(["a cat on a sofa", "a cat on a couch", "a red bus"])
    >>> bool(a @ b > a @ c)
    True
    """
    chosen = usable_device(device)
    opened = PhotoMatcher(open_run(run_name(model, "matcher"), device=chosen), chosen, workers, precision)
    if compile:
        compiled(opened.run)
    return opened
