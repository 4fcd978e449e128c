"""A calibrated probability that a caption is true of its image.

A logistic model of five values: how well the matcher finds that the caption fits the image, in deviations over images;
the log-probability per word; the least and the mean probability of its content words (see `word_evidence`); and how
unlike usual images the image is. It is fitted on images with references, on their own captions, on captions of other
images, and on captions of images that show no scene. A second model of its log-odds alone, fitted on own captions,
calibrates it for everyday photos.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellapart.inference.judging import Judging
from tellapart.inference.word_evidence import UNKNOWN, WordEvidence, word_rows
from tellapart.text.confirmed import claims

LEAST = 1e-4
"""Confidences are held this far from 0 and 1 before their log-odds are taken."""


def confidences(
    judge: Judging, evidence: WordEvidence, captions: Sequence[str], log_probability: np.ndarray, images: np.ndarray
) -> list[float]:
    """p(caption i is true of image i) whatever the caption and the image, for vectors [N, E] and ln p(c|I) [N]."""
    if not len(captions):
        return []
    values = confidence_features(judge, evidence, captions, log_probability, images)
    return [float(value) for value in evidence.confidence(values)]


def calibrated(evidence: WordEvidence, found: Sequence[float], against: bool = False) -> list[float]:
    """The confidence of plain captions of everyday photos, or of those chosen against look-alikes, from `confidences`.

    Of captions that a captioner writes for such photos more are true than of captions of any image.
    """
    model = evidence.against if against and evidence.against is not None else evidence.plain
    return list(found) if model is None else [float(value) for value in model(log_odds(found))]


def log_odds(found: Sequence[float]) -> np.ndarray:
    """ln(p / (1 - p)) of confidences, as the features [N, 1] of a calibration."""
    p = np.clip(np.asarray(found, np.float64), LEAST, 1 - LEAST)
    return np.asarray(np.log(p / (1 - p))[:, None])


def confidence_features(
    judge: Judging, evidence: WordEvidence, captions: Sequence[str], log_probability: np.ndarray, images: np.ndarray
) -> np.ndarray:
    """The values [N, 5] that confidence depends on, in the order of CONFIDENCE_FEATURES."""
    fit = evidence.fit(images, judge.caption_vectors(captions))
    words = np.asarray([len(caption.split()) + 1 for caption in captions])
    truth = evidence.probabilities(images)  # [N, W]
    rows = []
    for number, caption in enumerate(captions):
        named = claims(caption)
        known = truth[number, word_rows(evidence, named)].tolist()
        each = np.log([*known, *[UNKNOWN] * (len(named) - len(known))] or [UNKNOWN])
        rows.append((float(each.min()), float(each.mean())))
    least, mean = np.asarray(rows).T
    distance = evidence.distance(images)
    return np.stack([fit, log_probability / words, least, mean, distance], 1)
