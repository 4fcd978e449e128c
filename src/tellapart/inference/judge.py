"""A matcher that judges captions: how well does each identify its image among others?"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.precision import fast_products
from tellapart.core.protocols import Matcher
from tellapart.core.types import Encoded, Images
from tellapart.inference.caption_settings import MatcherOrRun
from tellapart.inference.feature_spec import as_needed
from tellapart.inference.judging import Surroundings
from tellapart.inference.light.matching import LightMatcher
from tellapart.inference.matching import PhotoMatcher
from tellapart.inference.own_extractor import spec_of
from tellapart.inference.word_evidence import WordEvidence, evidence_of
from tellapart.models.matchers.dual_encoder import DualEncoderModel
from tellapart.runs.bundled import run_name
from tellapart.runs.fingerprint import fingerprint
from tellapart.runs.run import Run, open_run
from tellapart.runs.texts import as_texts

TEMPERATURE = 0.05
"""For scores of a matcher that learned no temperature."""
TEXTS_AT_ONCE = 256


class Judge:
    """A matcher with its own features and its own words: captions reach it as text."""

    def __init__(self, run: Run, device: torch.device | str = "cpu") -> None:
        if not isinstance(run.model, Matcher):
            raise InputError(f"{run.what}, not a matcher; give a matcher's run, or hf:FOLDER of one.")
        self.run, self.matcher, self.device = run, run.model, torch.device(device)
        self.spec = spec_of(run)
        self.scale = scale_of(run.model)

    @torch.no_grad()
    def encode_images(self, images: Images) -> Encoded:
        """Images [I, R, D] in features that serve the matcher."""
        return self.matcher.encode_image(self.as_needed(images))

    def as_needed(self, images: Images) -> Images:
        """Features that serve the matcher, as it reads them."""
        return as_needed(images, self.spec)

    @functools.cached_property
    def evidence(self) -> WordEvidence | None:
        """What the matcher sees of words; None for a matcher that it was not fitted for."""
        return evidence_of(self.run.folder)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Equal for equal weights: vectors of matchers with different fingerprints cannot be compared."""
        return fingerprint(self.run.folder)

    @functools.cached_property
    def has_vectors(self) -> bool:
        """Whether an image is one vector."""
        return len(self._shape) == 2

    @functools.cached_property
    def width(self) -> int:
        """Length of a vector."""
        return self._shape[-1]

    @functools.cached_property
    def _shape(self) -> tuple[int, ...]:
        probe = torch.zeros(1, self.spec.rows, self.spec.width, device=self.device)
        mask = torch.ones(1, self.spec.rows, dtype=torch.bool, device=self.device)
        return tuple(self.encode_images(Images(probe, mask)).vectors.shape)

    @torch.no_grad()
    def encode_captions(self, captions: Sequence[str]) -> Encoded:
        """Captions by the matcher's own rules and vocabulary; one without a known word is no error."""
        if not self.has_vectors or not len(captions):
            return self._encode(captions)
        # Captions of similar length are read together, so that little is computed on padding.
        order = sorted(range(len(captions)), key=lambda row: len(captions[row]))
        parts = [order[first : first + TEXTS_AT_ONCE] for first in range(0, len(order), TEXTS_AT_ONCE)]
        vectors = torch.cat([self._encode([captions[row] for row in part]).vectors for part in parts])
        place = torch.empty(len(order), dtype=torch.long)
        place[torch.tensor(order)] = torch.arange(len(order))
        return Encoded(vectors[place.to(vectors.device)])

    def caption_vectors(self, captions: Sequence[str]) -> np.ndarray:
        """Vectors of captions [C, E]."""
        return np.asarray(self.encode_captions(captions).vectors.float().cpu().numpy())

    def image_vectors(self, images: Any) -> np.ndarray:
        """The vectors of encoded images [N, E]."""
        return np.asarray(images.vectors.float().cpu().numpy())

    @torch.no_grad()
    def cell_similarity(self, images: Images, words: Sequence[str]) -> np.ndarray | None:
        """Similarity of words with each cell of one image [T, R]; None for a matcher without vectors of cells."""
        if not isinstance(self.matcher, DualEncoderModel) or self.spec.kind != "grid" or not words:
            return None
        cells = self.matcher.cell_vectors(self.as_needed(images).features)[0]  # [R, E]
        texts = self.encode_captions(words).vectors.to(cells.device)
        return np.asarray((texts.float() @ cells.T).cpu().numpy())

    def caption_scores(self, captions: Sequence[str], around: Surroundings) -> tuple[np.ndarray, np.ndarray]:
        """Scores over temperature of captions with the images [I, C], and with those around them [A, C]."""
        with fast_products(self.device):
            encoded = self.encode_captions(captions)
        texts = Encoded(encoded.vectors.float(), encoded.mask, encoded.counted)
        own, among = (self.log_scores(images, texts) for images in (around.own, around.among))  # type: ignore[arg-type]
        return own.cpu().numpy(), among.cpu().numpy()

    def log_scores(self, images: Encoded, captions: Encoded) -> Tensor:
        """Scores over temperature [I, C]: a softmax over images gives p(image | caption)."""
        return self.matcher.score(images, captions) * self.scale

    def _encode(self, captions: Sequence[str]) -> Encoded:
        return self.matcher.encode_text(as_texts(self.run, captions, self.device, allow_unknown=True))


def scale_of(matcher: Matcher) -> float:
    """One over the temperature that a matcher learned, or over the default one."""
    learned: Callable[[], Tensor] | None = getattr(matcher, "scale", None)
    return 1 / TEMPERATURE if learned is None else float(learned().detach())


def open_judge(matcher: MatcherOrRun, device: torch.device | str = "cpu") -> Judge:
    """A matcher, or the run of one, as judge."""
    if isinstance(matcher, PhotoMatcher):
        return Judge(matcher.run, matcher.device)
    if isinstance(matcher, LightMatcher):
        return Judge(open_run(matcher.run.folder, device=device), device)
    return Judge(open_run(run_name(matcher, "matcher"), device=device), device)
