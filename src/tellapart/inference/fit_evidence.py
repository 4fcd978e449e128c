"""Fits `WordEvidence` for a matcher on images with references that neither model was trained on.

Three parts: the statistics of image vectors, the probability that people name a word, and the probability that a
caption is true. A word counts as true if a reference has it or a synonym; a caption counts as true if references name
all of its objects (of COCO's 80), and at least half of its content words. Captions of other images are examples of
untrue ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tellapart.inference.confidence import LEAST, confidence_features
from tellapart.inference.judge import Judge
from tellapart.inference.logistic import Logistic, fit_logistic
from tellapart.inference.word_evidence import (
    AGAINST_FEATURES,
    CONFIDENCE_FEATURES,
    TRUTH_FEATURES,
    WordEvidence,
    truth_features,
    unit,
    word_rows,
)
from tellapart.runs.fingerprint import fingerprint
from tellapart.text.concepts import ConceptDictionary
from tellapart.text.function_words import content_words
from tellapart.text.named import named_words

ENOUGH = 0.5
"""The share of a true caption's content words that references name."""
LEAST_COUNT = 15
SETTINGS = {"word": 0.1, "object": 0.75, "sure": 0.55, "sure_against": 0.7}
"""Chosen on images apart from those of the final figures."""


@dataclass(frozen=True)
class Examples:
    """Images that no model was trained on, with references, and a generated caption each."""

    vectors: np.ndarray  # [N, E] by the judge
    references: Sequence[Sequence[str]]  # tokenised
    captions: Sequence[str]
    log_probability: np.ndarray  # [N]


def word_statistics(judge: Judge, counts: Mapping[str, int], images: int, vectors: np.ndarray) -> WordEvidence:
    """Evidence of the words that occur at least LEAST_COUNT times in captions of `images` images; nothing fitted yet.

    vectors: [N, E] of many images.
    """
    words = tuple(word for word, count in counts.items() if count >= LEAST_COUNT and word.isalpha())
    encoded = judge.caption_vectors(words)
    centred = vectors - vectors.mean(0)
    return WordEvidence(
        fingerprint(judge.run.folder),
        words,
        unit(encoded),
        image_mean=vectors.mean(0),
        image_covariance=centred.T @ centred / len(vectors),
        log_rate=np.log(np.asarray([counts[word] / images for word in words], np.float32)),
        truth=Logistic(TRUTH_FEATURES, (0.0,) * len(TRUTH_FEATURES), 0.0),
        confidence=Logistic(CONFIDENCE_FEATURES, (0.0,) * len(CONFIDENCE_FEATURES), 0.0),
        settings=SETTINGS,
    )


def fit_truth(
    evidence: WordEvidence, vectors: np.ndarray, captions: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> WordEvidence:
    """With the probability that people name a word of a proposed caption; several captions per image [N, E]."""
    z = evidence.z(vectors)
    values, labels = [], []
    for row, (proposed, said) in enumerate(zip(captions, references)):
        named = dict.fromkeys(word for caption in proposed for word in content_words(caption.split()))
        words = [word for word in named if word in evidence.place]
        rows = word_rows(evidence, words)
        values.append(truth_features(z[row, rows], evidence.log_rate[rows], evidence.is_object[rows]))
        labels.append(named_words(words, said))
    fitted = fit_logistic(TRUTH_FEATURES, np.concatenate(values), np.concatenate(labels).astype(float))
    return replace(evidence, truth=fitted)


def fit_confidence(
    evidence: WordEvidence, judge: Judge, examples: Examples, strange: Examples | None = None, seed: int = 0
) -> WordEvidence:
    """With the probability that a caption is true, from own captions and as many captions of other images.

    strange: images that show no scene (noise, patterns, enlarged details), whose captions are all untrue.
    """
    values, labels = confidence_examples(evidence, judge, examples, seed)
    if strange is not None:
        more = confidence_features(judge, evidence, strange.captions, strange.log_probability, strange.vectors)
        values, labels = np.concatenate([values, more]), np.concatenate([labels, np.zeros(len(more))])
    return replace(evidence, confidence=fit_logistic(CONFIDENCE_FEATURES, values, labels))


def confidence_examples(
    evidence: WordEvidence, judge: Judge, examples: Examples, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Values [2 N, F] and labels [2 N]: each image with its own caption, then with the caption of another image."""
    others = np.roll(np.random.default_rng(seed).permutation(len(examples.captions)), 1)
    swapped = [examples.captions[row] for row in others]
    parts, labels = [], []
    for captions, chance in ((list(examples.captions), examples.log_probability),
                             (swapped, examples.log_probability[others])):  # fmt: skip
        parts.append(confidence_features(judge, evidence, captions, chance, examples.vectors))
        labels += [is_true(caption, references) for caption, references in zip(captions, examples.references)]
    return np.concatenate(parts), np.asarray(labels, float)


def fit_against(evidence: WordEvidence, found: Sequence[float], labels: Sequence[bool]) -> WordEvidence:
    """With a calibration of captions that were chosen against look-alikes: confidences as such, and which are true."""
    p = np.clip(np.asarray(found, np.float64), LEAST, 1 - LEAST)
    return replace(
        evidence, against=fit_logistic(AGAINST_FEATURES, np.log(p / (1 - p))[:, None], np.asarray(labels, float))
    )


def is_true(caption: str, references: Sequence[str]) -> bool:
    """Whether references support a caption: all of its objects, and at least half of its content words."""
    objects = ConceptDictionary.coco()
    named = set().union(*(objects.of_sentence(reference.split()) for reference in references))
    words = content_words(caption.split())
    if not words or not set(objects.of_sentence(caption.split())) <= named:
        return False
    return float(np.mean(named_words(words, references))) >= ENOUGH
