"""Fits `WordEvidence` for a matcher on images with references that neither model was trained on.

Three parts: the statistics of image vectors with a detector per word, the probability that people name a word, and the
probability that a caption is true. A word counts as true if a reference has it or a synonym; a caption counts as true
if references name all of its objects (of COCO's 80), and at least half of its content words. Captions of other images
are examples of untrue ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tellapart.inference.confidence import calibrated, confidence_features, confidences, log_odds
from tellapart.inference.judge import Judge
from tellapart.inference.logistic import Logistic, fit_logistic
from tellapart.inference.word_detectors import fit_detectors
from tellapart.inference.word_evidence import (
    CALIBRATION_FEATURES,
    CONFIDENCE_FEATURES,
    TRUTH_FEATURES,
    WordEvidence,
    truth_features,
    unit,
    word_rows,
)
from tellapart.runs.fingerprint import fingerprint
from tellapart.text.concepts import ConceptDictionary
from tellapart.text.confirmed import claims, confirmed_table, confirmed_words
from tellapart.text.function_words import content_words
from tellapart.text.named import named_words

ENOUGH = 0.5
"""The share of a true caption's content words that references name."""
LEAST_COUNT = 40
LEAST_SURE, FEW = 0.6, 0.03
SETTINGS = {
    "word": 0.05,
    "object": 0.5,
    "sure": 0.7,
    "sure_against": 0.7,
    "softness": 0.6,
    "agreement": 1.2,
    "truth": 0.35,
    "fluency": 0.8,
}
"""Chosen on images apart from those of the final figures."""


@dataclass(frozen=True)
class Examples:
    """Images that no model was trained on, with references, and a generated caption each."""

    vectors: np.ndarray  # [N, E] by the judge
    references: Sequence[Sequence[str]]  # tokenised
    captions: Sequence[str]
    log_probability: np.ndarray  # [N]


@dataclass(frozen=True)
class Seen:
    """Images whose words detectors learn."""

    vectors: np.ndarray  # [N, E] by the judge
    references: Sequence[Sequence[str]]  # tokenised


def word_statistics(
    judge: Judge, counts: Mapping[str, int], images: int, unseen: Seen, trained: Seen | None = None
) -> WordEvidence:
    """Evidence of the words that occur at least LEAST_COUNT times in captions of `images` images; no model fitted yet.

    unseen: many images that no model was trained on; trained: images of the training split, which add to the detectors
    alone. Captions that models are fitted on must be of images apart: detectors fit their own images too well.
    """
    words = tuple(word for word, count in counts.items() if count >= LEAST_COUNT and word.isalpha())
    encoded = judge.caption_vectors(words)
    vectors = unit(unseen.vectors)
    centred = vectors - vectors.mean(0)
    table = confirmed_table(words, [*unseen.references, *(trained.references if trained else ())])
    both = vectors if trained is None else np.concatenate([vectors, unit(trained.vectors)])
    detectors, log_named = fit_detectors(both, table)
    return WordEvidence(
        fingerprint(judge.run.folder),
        words,
        unit(encoded),
        image_mean=vectors.mean(0),
        image_covariance=centred.T @ centred / len(vectors),
        log_rate=np.log(np.asarray([counts[word] / images for word in words], np.float32)),
        detectors=detectors,
        log_named=log_named,
        truth=Logistic(TRUTH_FEATURES, (0.0,) * len(TRUTH_FEATURES), 0.0),
        confidence=Logistic(CONFIDENCE_FEATURES, (0.0,) * len(CONFIDENCE_FEATURES), 0.0),
        settings=SETTINGS,
    )


def fit_truth(
    evidence: WordEvidence, vectors: np.ndarray, captions: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> WordEvidence:
    """With the probability that people name a word of a proposed caption; several captions per image [N, E]."""
    detected = evidence.detected(vectors)
    values, labels = [], []
    for row, (proposed, said) in enumerate(zip(captions, references)):
        named = dict.fromkeys(word for caption in proposed for word in claims(caption))
        words = [word for word in named if word in evidence.place]
        rows = word_rows(evidence, words)
        values.append(truth_features(detected[row, rows], evidence.log_named[rows], evidence.is_object[rows]))
        labels.append(confirmed_words(words, said))
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


def fit_calibration(found: Sequence[float], labels: Sequence[bool]) -> Logistic:
    """p(caption is true) of the log-odds of confidences, from captions of everyday photos: which are true."""
    return fit_logistic(CALIBRATION_FEATURES, log_odds(found), np.asarray(labels, float))


def fit_plain(evidence: WordEvidence, judge: Judge, examples: Examples) -> WordEvidence:
    """With a calibration for plain captions of everyday photos."""
    found = confidences(judge, evidence, examples.captions, examples.log_probability, examples.vectors)
    labels = [is_true(caption, said) for caption, said in zip(examples.captions, examples.references)]
    return replace(evidence, plain=fit_calibration(found, labels))


def with_thresholds(evidence: WordEvidence, judge: Judge, strange: Examples) -> WordEvidence:
    """With thresholds of "sure" that few captions of images without a scene reach."""
    found = confidences(judge, evidence, strange.captions, strange.log_probability, strange.vectors)
    sure, against = (_threshold(calibrated(evidence, found, chosen)) for chosen in (False, True))
    return replace(evidence, settings={**evidence.settings, "sure": sure, "sure_against": against})


def with_plain(evidence: WordEvidence, plain: Logistic) -> WordEvidence:
    """With another calibration for plain captions; the threshold of "sure" moves with it."""
    settings = {**evidence.settings, "sure": _moved(evidence.settings["sure"], evidence.plain, plain)}
    return replace(evidence, plain=plain, settings=settings)


def with_against(evidence: WordEvidence, against: Logistic) -> WordEvidence:
    """With another calibration for captions chosen against look-alikes; the threshold of "sure" moves with it."""
    before = evidence.against or evidence.plain
    settings = {**evidence.settings, "sure_against": _moved(evidence.settings["sure_against"], before, against)}
    return replace(evidence, against=against, settings=settings)


def _moved(threshold: float, before: Logistic | None, after: Logistic) -> float:
    """A threshold that stays at the same confidence before calibration, in whole percent, at least LEAST_SURE."""
    odds = log_odds([threshold])
    if before is not None and before.weights[0] > 0:
        odds = (odds - before.bias) / before.weights[0]
    return max(LEAST_SURE, math.ceil(round(100 * float(after(odds)[0]), 6)) / 100)


def _threshold(strange: Sequence[float]) -> float:
    """The least confidence, in whole percent and at least LEAST_SURE, that a share of FEW strange captions reaches."""
    highest = float(np.quantile(np.asarray(strange), 1 - FEW)) if len(strange) else 0.0
    return max(LEAST_SURE, math.ceil(100 * highest) / 100)


def is_true(caption: str, references: Sequence[str]) -> bool:
    """Whether references support a caption: all of its objects, and at least half of its content words."""
    objects = ConceptDictionary.coco()
    named = set().union(*(objects.of_sentence(reference.split()) for reference in references))
    words = content_words(caption.split())
    if not words or not set(objects.of_sentence(caption.split())) <= named:
        return False
    return float(np.mean(named_words(words, references))) >= ENOUGH
