"""Confidence of grounding metrics: 95% bootstrap intervals over images.

Outcomes are counted once per image and class; the samples are then one product of two matrices. A mean runs over the
classes that the drawn images annotate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tellapart.metrics.grounding.attention import GroundingOutcomes, Outcomes
from tellapart.metrics.percentiles import percentile_interval

SAMPLES = 1000


def draws(images: int, samples: int = SAMPLES, seed: int = 0) -> np.ndarray:
    """[S, I]: how often each sample draws each image."""
    random = np.random.default_rng(seed)
    return random.multinomial(images, np.full(images, 1 / max(images, 1)), size=samples).astype(np.float32)


def accuracy_samples(outcomes: Outcomes, images: np.ndarray, classes: int, drawn: np.ndarray) -> np.ndarray:
    """Attention accuracy [S] of each sample in percent. `images` are the rows that `drawn` [S, I] counts."""
    hits, counts = _counted(outcomes, images, classes)
    hit, count = drawn @ hits, drawn @ counts  # [S, K]
    return 100 * _mean(hit, count, count > 0)


def score_samples(
    outcomes: GroundingOutcomes, images: np.ndarray, classes: int, drawn: np.ndarray
) -> dict[str, np.ndarray]:
    """F1_all and F1_loc [S] of each sample in percent."""
    annotated = drawn @ _counted(outcomes.recall, images, classes)[1] > 0  # [S, K]
    found = {}
    for name, both in outcomes.modes.items():
        rates = []
        for part in both:
            hits, counts = _counted(part, images, classes)
            rates.append(_mean(drawn @ hits, drawn @ counts, annotated))
        precision, recall = rates
        found[f"f1_{name}"] = 100 * 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    return found


def interval(samples: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The percentile interval of the samples [S]."""
    return percentile_interval(samples, level)


def paired_difference(
    first: Outcomes,
    second: Outcomes,
    images: np.ndarray,
    classes: int,
    samples: Callable[[Outcomes, np.ndarray, int, np.ndarray], np.ndarray] = accuracy_samples,
    seed: int = 0,
) -> tuple[float, float]:
    """The 95% interval of second minus first, on the same drawn images."""
    drawn = draws(len(images), seed=seed)
    return interval(samples(second, images, classes, drawn) - samples(first, images, classes, drawn))


def _counted(outcomes: Outcomes, images: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Hits and rows [I, K] by image and class."""
    row = np.searchsorted(images, outcomes.image)
    key, size = row * classes + outcomes.word_class, len(images) * classes
    hits = np.bincount(key, weights=outcomes.hit, minlength=size).reshape(-1, classes)
    counts = np.bincount(key, minlength=size).reshape(-1, classes)
    return hits.astype(np.float32), counts.astype(np.float32)


def _mean(hits: np.ndarray, counts: np.ndarray, judged: np.ndarray) -> np.ndarray:
    rates = np.where(judged, hits / np.maximum(counts, 1), 0.0)
    result: np.ndarray = rates.sum(1) / np.maximum(judged.sum(1), 1)
    return result
