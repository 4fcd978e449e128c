"""A calibrated probability that a caption is true of its image.

A logistic model of five values: how well the matcher finds that the caption fits the image, in deviations over images;
the log-probability per word; the least and the mean probability of its content words (see `word_evidence`); and how
unlike usual images the image is. It is fitted on images with references, on their own captions, on captions of other
images, and on captions of images that show no scene.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellapart.inference.judging import Judging
from tellapart.inference.word_evidence import UNKNOWN, WordEvidence, word_rows
from tellapart.text.function_words import content_words

LEAST = 1e-4
"""Confidences are held this far from 0 and 1 before their log-odds are taken."""


def confidences(
    judge: Judging, evidence: WordEvidence, captions: Sequence[str], log_probability: np.ndarray, images: np.ndarray
) -> list[float]:
    """p(caption i is true of image i), for image vectors [N, E] and ln p(c|I) [N]."""
    if not len(captions):
        return []
    values = confidence_features(judge, evidence, captions, log_probability, images)
    return [float(value) for value in evidence.confidence(values)]


def against_look_alikes(evidence: WordEvidence, found: Sequence[float]) -> list[float]:
    """The confidence of captions that were chosen against look-alikes, from that of captions as such."""
    if evidence.against is None:
        return list(found)
    p = np.clip(np.asarray(found, np.float64), LEAST, 1 - LEAST)
    return [float(value) for value in evidence.against(np.log(p / (1 - p))[:, None])]


def confidence_features(
    judge: Judging, evidence: WordEvidence, captions: Sequence[str], log_probability: np.ndarray, images: np.ndarray
) -> np.ndarray:
    """The values [N, 5] that confidence depends on, in the order of CONFIDENCE_FEATURES."""
    fit = evidence.fit(images, judge.caption_vectors(captions))
    words = np.asarray([len(caption.split()) + 1 for caption in captions])
    truth = evidence.probabilities(evidence.z(images))  # [N, W]
    rows = []
    for number, caption in enumerate(captions):
        named = content_words(caption.split())
        known = truth[number, word_rows(evidence, named)].tolist()
        each = np.log([*known, *[UNKNOWN] * (len(named) - len(known))] or [UNKNOWN])
        rows.append((float(each.min()), float(each.mean())))
    least, mean = np.asarray(rows).T
    distance = evidence.distance(images)
    return np.stack([fit, log_probability / words, least, mean, distance], 1)
