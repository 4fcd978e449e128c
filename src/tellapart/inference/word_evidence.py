"""What a matcher sees of each word in an image.

The cosine of an image with a word, by a matcher's vectors, says little by itself: "animal" is close to everything,
"toothbrush" to nothing. In deviations from its mean over many images,

    z(w, I) = (cos(I, w) - mean over images of cos(J, w)) / standard deviation over images of cos(J, w),

it says how much more of the word this image shows than an image usually does. Whether the image shows the word at all
is what a linear detector per word says (see `word_detectors`). A logistic model turns its output and the share of
images that people name the word for into the probability that they name it here (see `fit_evidence`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from tellapart.core.errors import InputError
from tellapart.core.files import read_json, write_text
from tellapart.inference.logistic import Logistic
from tellapart.runs.bundled import MODELS
from tellapart.runs.fingerprint import fingerprint
from tellapart.text.concepts import ConceptDictionary
from tellapart.text.vocabulary import Vocabulary

FOLDER = "evidence"
"""In the folder of a matcher's run, or beside the bundled runs."""
TENSORS = ("vectors", "image_mean", "image_covariance", "log_rate", "detectors", "log_named")
RIDGE = 0.1
UNKNOWN = 0.01
"""Probability of a content word without evidence: it is rare."""
LEAST = 0.002
"""Probabilities of words are held this far from 0 and 1."""
TRUTH_FEATURES = ("detected", "log_named", "is_object", "object_detected", "detected_log_named")
CONFIDENCE_FEATURES = ("fit", "log_probability", "least_truth", "mean_truth", "distance")
CALIBRATION_FEATURES = ("log_odds",)


@dataclass(frozen=True)
class WordEvidence:
    """Vectors of words by a matcher, their statistics over images, and the models fitted on them."""

    matcher: str
    """Fingerprint of the matcher."""
    words: tuple[str, ...]
    vectors: np.ndarray  # [W, E] of length one
    image_mean: np.ndarray  # [E] mean of many image vectors
    image_covariance: np.ndarray  # [E, E]
    log_rate: np.ndarray  # [W] log of the word's occurrences per image of the training captions
    detectors: np.ndarray  # [W, E] weights of one linear detector per word
    log_named: np.ndarray  # [W] log of the share of images whose references name the word or a synonym
    truth: Logistic
    """p(word is named by a reference), of TRUTH_FEATURES."""
    confidence: Logistic
    """p(caption is true), of CONFIDENCE_FEATURES."""
    settings: Mapping[str, float]
    """Thresholds: `word` and `object` for the truth of a content word, `sure` for the confidence in a caption,
    `sure_against` for that in a caption chosen against look-alikes. `softness`, `agreement`, `truth` and `fluency` are
    the weights of the choice, and `second_truth`, `second_word` and `second_object` those of a second judge (see
    `telling_apart`)."""
    plain: Logistic | None = None
    """p(caption is true) of the log-odds of `confidence`, for plain captions of everyday photos; None: these."""
    against: Logistic | None = None
    """The same for captions that were chosen against look-alikes; None: as plain ones."""

    @cached_property
    def place(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    @cached_property
    def rarity(self) -> dict[str, float]:
        """-ln of the share of images whose references name each word, at least 0."""
        return {word: max(0.0, -value) for word, value in zip(self.words, self.log_rate.tolist())}

    @cached_property
    def is_object(self) -> np.ndarray:
        """[W] 1 for words that name one of COCO's 80 objects, which people rarely leave out, otherwise 0."""
        objects = ConceptDictionary.coco()
        return np.asarray([float(bool(objects.of_sentence((word,)))) for word in self.words], np.float32)

    @cached_property
    def _word_statistics(self) -> tuple[np.ndarray, np.ndarray]:
        return self._statistics(self.vectors)

    def _statistics(self, texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation [C] over images of their cosine with texts [C, E]."""
        variance = ((texts @ self.image_covariance) * texts).sum(1)
        return texts @ self.image_mean, np.sqrt(np.maximum(variance, 1e-8))

    def z(self, images: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """z [I, W] of image vectors [I, E] and all words, or those in some rows."""
        mean, deviation = self._word_statistics
        if rows is None:
            return np.asarray((unit(images) @ self.vectors.T - mean) / deviation)
        return np.asarray((unit(images) @ self.vectors[rows].T - mean[rows]) / deviation[rows])

    def fit(self, images: np.ndarray, captions: np.ndarray) -> np.ndarray:
        """z [N] of image vectors [N, E] and the vectors of a caption each [N, E]."""
        captions = unit(captions)
        mean, deviation = self._statistics(captions)
        return np.asarray(((unit(images) * captions).sum(1) - mean) / deviation)

    @cached_property
    def _inverse(self) -> np.ndarray:
        """The inverse covariance of image vectors [E, E], with a ridge of a tenth of the mean variance."""
        width = len(self.image_mean)
        ridge = RIDGE * np.trace(self.image_covariance) / width
        return np.linalg.inv(self.image_covariance + ridge * np.eye(width, dtype=self.image_mean.dtype))

    def distance(self, images: np.ndarray) -> np.ndarray:
        """How unlike the usual images [I]: the Mahalanobis distance over the square root of the width, about 1."""
        centred = unit(images) - self.image_mean
        return np.asarray(np.sqrt(np.maximum(((centred @ self._inverse) * centred).sum(1) / len(self.image_mean), 0)))

    def detected(self, images: np.ndarray) -> np.ndarray:
        """What the detectors say [I, W] of image vectors [I, E]: 0 for the mean image."""
        return np.asarray((unit(images) - self.image_mean) @ self.detectors.T)

    def probabilities(self, images: np.ndarray) -> np.ndarray:
        """p(word is true) [I, W] of image vectors [I, E]."""
        values = truth_features(self.detected(images), self.log_named, self.is_object)
        return self.truth(values).clip(LEAST, 1 - LEAST).astype(np.float32)

    def supported(self, probabilities: np.ndarray, limits: Mapping[str, float] | None = None) -> np.ndarray:
        """[..., W] bool: whether an image supports each word, of p(word is true) [..., W]; limits: other thresholds
        than those of the settings."""
        used = self.settings if limits is None else limits
        objects, words = used["object"], used["word"]
        return probabilities >= np.where(self.is_object > 0, objects, words)

    def over_vocabulary(self, values: np.ndarray, vocabulary: Vocabulary) -> np.ndarray:
        """Values [I, W] as [I, V] of a captioner's vocabulary; 0 for words without evidence."""
        known = [(row, vocabulary.ids[word]) for row, word in enumerate(self.words) if word in vocabulary.ids]
        rows, ids = (np.asarray(part, np.int64) for part in zip(*known))
        spread = np.zeros((len(values), len(vocabulary)), values.dtype)
        spread[:, ids] = values[:, rows]
        return spread

    def save(self, folder: Path) -> None:
        """Write `words.safetensors` (float16) and `evidence.json`."""
        folder.mkdir(parents=True, exist_ok=True)
        # safetensors writes memory as it lies: a transposed array must be copied first.
        tensors = {name: np.ascontiguousarray(getattr(self, name), np.float16) for name in TENSORS}
        save_file(tensors, folder / "words.safetensors")
        about: dict[str, Any] = {
            "matcher": self.matcher,
            "truth": self.truth.plain(),
            "confidence": self.confidence.plain(),
            "plain": None if self.plain is None else self.plain.plain(),
            "against": None if self.against is None else self.against.plain(),
            "settings": dict(self.settings),
            "words": list(self.words),
        }
        write_text(folder / "evidence.json", json.dumps(about, indent=1) + "\n")


def read_evidence(folder: Path, matcher: str) -> WordEvidence | None:
    """The stored evidence of a matcher; None if there is none, or if it belongs to a matcher with other weights."""
    if not (folder / "evidence.json").is_file():
        return None
    about = read_json(folder / "evidence.json")
    if about["matcher"] != matcher:
        return None
    tensors = {name: value.astype(np.float32) for name, value in load_file(folder / "words.safetensors").items()}
    return WordEvidence(
        about["matcher"],
        tuple(about["words"]),
        truth=Logistic.read(about["truth"], TRUTH_FEATURES),
        confidence=Logistic.read(about["confidence"], CONFIDENCE_FEATURES),
        settings=about["settings"],
        plain=_calibration(about.get("plain")),
        against=_calibration(about.get("against")),
        **tensors,
    )


def evidence_of(run: Path) -> WordEvidence | None:
    """The evidence of a matcher's run: in its folder, or that of the package; None if there is none."""
    model = fingerprint(run)
    return read_evidence(run / FOLDER, model) or read_evidence(MODELS / FOLDER, model)


def needed_evidence(folder: Path, model: str, matcher: str) -> WordEvidence:
    """The stored evidence of a matcher; an error if there is none."""
    evidence = read_evidence(folder, model)
    if evidence is None:
        raise InputError(f"{folder} has no evidence of {matcher}; fit it with cli.fit_evidence.")
    return evidence


def _calibration(stored: Mapping[str, Any] | None) -> Logistic | None:
    return Logistic.read(stored, CALIBRATION_FEATURES) if stored else None


def truth_features(detected: np.ndarray, log_named: np.ndarray, is_object: np.ndarray) -> np.ndarray:
    """The values [..., W, F] that the truth of words depends on, in the order of TRUTH_FEATURES, for [..., W].

    Objects have a separate slope: references name nearly all of them.
    """
    parts = (detected, log_named, is_object, detected * is_object, detected * log_named)
    return np.stack([np.broadcast_to(part, detected.shape) for part in parts], -1)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors [..., E] of length one."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12))


def word_rows(evidence: WordEvidence, words: Sequence[str]) -> np.ndarray:
    """Rows of words that have evidence."""
    return np.asarray([evidence.place[word] for word in words if word in evidence.place], np.int64)
