"""What a matcher sees of each word in an image.

The cosine of an image with a word, by a matcher's vectors, says little by itself: "animal" is close to everything,
"toothbrush" to nothing. In deviations from its mean over many images,

    z(w, I) = (cos(I, w) - mean over images of cos(J, w)) / standard deviation over images of cos(J, w),

it says how much more of the word this image shows than an image usually does. A logistic model turns z and the word's
frequency into the probability that people name the word, fitted on images with references (see `fit_evidence`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional

from tellapart.core.files import read_json, write_text
from tellapart.inference.logistic import Logistic
from tellapart.text.concepts import ConceptDictionary
from tellapart.text.vocabulary import Vocabulary

FOLDER = "evidence"
"""Beside the bundled runs."""
TENSORS = ("vectors", "image_mean", "image_covariance", "log_rate")
RIDGE = 0.1
TRUTH_FEATURES = ("z", "log_rate", "is_object", "object_z", "object_log_rate")
CONFIDENCE_FEATURES = ("fit", "log_probability", "least_truth", "mean_truth", "distance")


@dataclass(frozen=True)
class WordEvidence:
    """Vectors of words by a matcher, their statistics over images, and the models fitted on them."""

    matcher: str
    """Fingerprint of the matcher."""
    words: tuple[str, ...]
    vectors: Tensor  # [W, E] of length one
    image_mean: Tensor  # [E] mean of many image vectors
    image_covariance: Tensor  # [E, E]
    log_rate: Tensor  # [W] log of the share of images whose references name the word
    truth: Logistic
    """p(word is named by a reference), of TRUTH_FEATURES."""
    confidence: Logistic
    """p(caption is true), of CONFIDENCE_FEATURES."""
    settings: Mapping[str, float]
    """Thresholds: `word` and `object` for the truth of a content word, `sure` for the confidence in a caption."""

    @cached_property
    def place(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    @cached_property
    def is_object(self) -> Tensor:
        """[W] 1 for words that name one of COCO's 80 objects, which people rarely leave out, otherwise 0."""
        objects = ConceptDictionary.coco()
        return torch.tensor([float(bool(objects.of_sentence((word,)))) for word in self.words]).to(self.vectors.device)

    @cached_property
    def _word_statistics(self) -> tuple[Tensor, Tensor]:
        return self._statistics(self.vectors)

    def _statistics(self, texts: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation [C] over images of their cosine with texts [C, E]."""
        variance = ((texts @ self.image_covariance) * texts).sum(1)
        return texts @ self.image_mean, variance.clamp(min=1e-8).sqrt()

    def z(self, images: Tensor) -> Tensor:
        """z [I, W] of image vectors [I, E] and all words."""
        mean, deviation = self._word_statistics
        return (functional.normalize(images, dim=-1) @ self.vectors.T - mean) / deviation

    def fit(self, images: Tensor, captions: Tensor) -> Tensor:
        """z [N] of image vectors [N, E] and the vectors of a caption each [N, E]."""
        captions = functional.normalize(captions, dim=-1)
        mean, deviation = self._statistics(captions)
        return ((functional.normalize(images, dim=-1) * captions).sum(1) - mean) / deviation

    @cached_property
    def _inverse(self) -> Tensor:
        """The inverse covariance of image vectors [E, E], with a ridge of a tenth of the mean variance."""
        width = len(self.image_mean)
        ridge = RIDGE * self.image_covariance.trace() / width
        identity = torch.eye(width, device=self.image_mean.device)
        inverse: Tensor = torch.linalg.inv(self.image_covariance + ridge * identity)
        return inverse

    def distance(self, images: Tensor) -> Tensor:
        """How unlike the usual images [I]: the Mahalanobis distance over the square root of the width, about 1."""
        centred = functional.normalize(images, dim=-1) - self.image_mean
        return (((centred @ self._inverse) * centred).sum(1) / len(self.image_mean)).clamp(min=0).sqrt()

    def probabilities(self, z: Tensor) -> Tensor:
        """p(word is true) [..., W] of z [..., W]."""
        features = truth_features(z, self.log_rate, self.is_object)
        return torch.sigmoid(features @ torch.tensor(self.truth.weights, device=z.device) + self.truth.bias)

    def supported(self, z: Tensor) -> Tensor:
        """[..., W] bool: whether an image supports each word, of z [..., W]."""
        objects, words = self.settings["object"], self.settings["word"]
        return self.probabilities(z) >= torch.where(self.is_object > 0, objects, words)

    def over_vocabulary(self, values: Tensor, vocabulary: Vocabulary) -> Tensor:
        """Values [I, W] as [I, V] of a captioner's vocabulary; 0 for words without evidence."""
        known = [(row, vocabulary.ids[word]) for row, word in enumerate(self.words) if word in vocabulary.ids]
        rows, ids = (torch.tensor(part, dtype=torch.long, device=values.device) for part in zip(*known))
        spread = torch.zeros(len(values), len(vocabulary), dtype=values.dtype, device=values.device)
        spread[:, ids] = values[:, rows]
        return spread

    def to(self, device: torch.device | str) -> WordEvidence:
        """A copy with all tensors on the device."""
        moved = {name: getattr(self, name).to(device) for name in TENSORS}
        return WordEvidence(self.matcher, self.words, truth=self.truth, confidence=self.confidence,
                            settings=self.settings, **moved)  # fmt: skip

    def save(self, folder: Path) -> None:
        """Write `words.safetensors` (float16) and `evidence.json`."""
        folder.mkdir(parents=True, exist_ok=True)
        save_file({name: getattr(self, name).half().contiguous() for name in TENSORS}, folder / "words.safetensors")
        about: dict[str, Any] = {
            "matcher": self.matcher,
            "truth": self.truth.plain(),
            "confidence": self.confidence.plain(),
            "settings": dict(self.settings),
            "words": list(self.words),
        }
        write_text(folder / "evidence.json", json.dumps(about, indent=1) + "\n")


def read_evidence(folder: Path, fingerprint: str) -> WordEvidence | None:
    """The stored evidence of a matcher; None if there is none, or if it belongs to a matcher with other weights."""
    if not (folder / "evidence.json").is_file():
        return None
    about = read_json(folder / "evidence.json")
    if about["matcher"] != fingerprint:
        return None
    tensors = {name: value.float() for name, value in load_file(folder / "words.safetensors").items()}
    return WordEvidence(
        about["matcher"],
        tuple(about["words"]),
        truth=Logistic.read(about["truth"], TRUTH_FEATURES),
        confidence=Logistic.read(about["confidence"], CONFIDENCE_FEATURES),
        settings=about["settings"],
        **tensors,
    )


def truth_features(z: Tensor, log_rate: Tensor, is_object: Tensor) -> Tensor:
    """The values [..., W, F] that the truth of words depends on, in the order of TRUTH_FEATURES, for z [..., W].

    Objects have separate slopes: references name nearly all of them.
    """
    parts = (z, log_rate, is_object, z * is_object, log_rate * is_object)
    return torch.stack([part.expand_as(z) for part in parts], -1)


def word_rows(evidence: WordEvidence, words: Sequence[str]) -> np.ndarray:
    """Rows of words that have evidence."""
    return np.asarray([evidence.place[word] for word in words if word in evidence.place], np.int64)
