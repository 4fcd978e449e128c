"""Matching photos and texts without torch: the same methods as `inference.matching.PhotoMatcher`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.progress import progress_bar
from tellapart.images.opening import UnreadableImage
from tellapart.images.sources import ImageInput, as_images
from tellapart.inference.judging import Encodings, Surroundings, Vectors
from tellapart.inference.light.encoder import ExportedEncoder
from tellapart.inference.light.exported_run import ExportedRun
from tellapart.inference.light.extractor import LightExtractor
from tellapart.inference.light.sessions import chosen_precision
from tellapart.inference.word_evidence import WordEvidence, evidence_of
from tellapart.runs.fingerprint import fingerprint

ImageInputs = ImageInput | Iterable[ImageInput]
REMEMBERED = 4096
"""Vectors of captions that are kept: one caption is judged several times, and look-alikes share captions."""


class LightMatcher:
    """Encodes images and texts as vectors whose cosine says how well they match.

    Images are paths, open files, PIL images or arrays [H, W, 3] of uint8, one or many.
    """

    device = "cpu"
    has_vectors = True

    def __init__(self, run: ExportedRun, workers: int = 0, precision: str = "auto") -> None:
        self.run, self.workers = run, workers
        self.precision = chosen_precision(precision)
        self.encoder = ExportedEncoder(run, self.precision)
        self._remembered: dict[str, np.ndarray] = {}

    def encode_images(self, images: ImageInputs, *, batch_size: int = 32, progress: bool = False) -> np.ndarray:
        """Vectors of length one [N, D], float32; one image gives [1, D]."""
        if batch_size < 1:
            raise InputError(f"`batch_size` must be at least 1, not {batch_size}.")
        given, _ = as_images(images)
        parts = [np.zeros((0, self.width), np.float32)]
        if not given:
            return parts[0]
        with progress_bar(len(given), "encoding", enabled=progress) as advance:
            for extracted in self.extractor.extract(given, batch_size):
                if extracted.faults:
                    raise UnreadableImage(f"{next(iter(extracted.faults.values()))}.")
                parts.append(self.encode_features(extracted.cells))
                advance(len(extracted.places))
        return np.concatenate(parts)

    def encode_texts(self, texts: str | Iterable[str]) -> np.ndarray:
        """Vectors of length one [N, D], float32; one text gives [1, D]."""
        given = [texts] if isinstance(texts, str) else list(texts)
        if wrong := next((text for text in given if not isinstance(text, str)), None):
            raise InputError(f"`texts` must be strings, not {type(wrong).__name__}.")
        return self.encoder.encode_texts(given)

    def similarity(
        self,
        images: ImageInputs,
        texts: str | Iterable[str] | np.ndarray,
        *,
        batch_size: int = 32,
        progress: bool = False,
    ) -> np.ndarray:
        """Cosines of every image with every text [N, M].

        Both may also be given as the vectors that `encode_images` and `encode_texts` return.
        """
        ours = images if is_vectors(images) else self.encode_images(images, batch_size=batch_size, progress=progress)
        theirs = texts if is_vectors(texts) else self.encode_texts(texts)
        return np.asarray(ours @ theirs.T)  # type: ignore[union-attr]

    @property
    def width(self) -> int:
        """Length D of a vector."""
        return self.encoder.width

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal weights: vectors of matchers with different fingerprints cannot be compared."""
        return fingerprint(self.run.folder)

    @cached_property
    def extractor(self) -> LightExtractor:
        """The backbone, opened when the first image is encoded."""
        return LightExtractor(self.run, self.precision, self.workers)

    def open(self) -> None:
        """Open what captions are judged by, so that threads do not open it twice."""
        self.encoder.open_captions()
        _ = self.evidence

    def encode_features(self, cells: np.ndarray) -> np.ndarray:
        """Vectors of length one [N, D] of cells [N, R, F]."""
        return self.encoder.encode_cells(cells)

    @cached_property
    def evidence(self) -> WordEvidence | None:
        """What the matcher sees of words; None for a matcher that it was not fitted for."""
        return evidence_of(self.run.folder)

    def caption_vectors(self, captions: Sequence[str]) -> np.ndarray:
        """Vectors of captions [C, E]; one without a known word is no error."""
        remembered = self._remembered  # another thread may replace it
        missing = [caption for caption in dict.fromkeys(captions) if caption not in remembered]
        new = dict(zip(missing, self.encoder.encode_captions(missing)))
        known = [new[caption] if caption in new else remembered[caption] for caption in captions]
        if len(remembered) + len(new) > REMEMBERED:
            self._remembered = new
        else:
            remembered.update(new)
        return np.stack(known) if known else np.zeros((0, self.width), np.float32)

    def cell_similarity(self, cells: np.ndarray, words: Sequence[str]) -> np.ndarray:
        """Similarity [T, R] of words with each cell of one image [R, D]."""
        return self.encoder.cell_similarity(cells, words)

    def image_vectors(self, images: Encodings) -> np.ndarray:
        """The vectors of encoded images [N, E]."""
        assert isinstance(images, Vectors)
        return images.vectors

    def caption_scores(self, captions: Sequence[str], around: Surroundings) -> tuple[np.ndarray, np.ndarray]:
        """Cosines over temperature of captions with the images [I, C], and with those around them [A, C]."""
        texts = self.caption_vectors(captions).T * np.float32(self.run.exported["scale"])
        return self.image_vectors(around.own) @ texts, self.image_vectors(around.among) @ texts


def is_vectors(value: object) -> bool:
    """Whether a value is a matrix of vectors, unlike an image, which has whole numbers."""
    return isinstance(value, np.ndarray) and value.ndim == 2 and np.issubdtype(value.dtype, np.floating)
