"""Confidence of caption metrics: bootstrap intervals over images, and paired differences of two systems.

A resampled corpus is a set of weights of the images. Metrics that are means become weighted means; BLEU and METEOR are
computed from weighted sums of their counts. Both systems of a comparison get the same weights.
"""

from dataclasses import dataclass

import numpy as np

from tellapart.core.errors import InputError
from tellapart.metrics.captions.values import Score
from tellapart.metrics.percentiles import percentile_interval

SAMPLES = 1000


@dataclass(frozen=True)
class CaptionInterval:
    """A value with its percentile interval."""

    value: float
    low: float
    high: float


def resampled(score: Score, samples: int = SAMPLES, seed: int = 0) -> np.ndarray:
    """[samples]: the corpus values of corpora of as many images, drawn with replacement."""
    images = len(score.each)
    generator = np.random.default_rng(seed)
    values = []
    for count in np.diff(np.append(np.arange(0, samples, 64), samples)):  # in blocks, to bound memory
        weights = generator.multinomial(images, np.full(images, 1 / images), size=int(count)).astype(float)
        if score.sums is None:
            values.append(weights @ score.each / images)
        else:
            values.append(score.sums.value(weights @ score.sums.columns))
    return np.concatenate(values)


def interval(score: Score, samples: int = SAMPLES, level: float = 0.95, seed: int = 0) -> CaptionInterval:
    """The corpus value and its bootstrap interval.

    >>> interval(Score(0.5, np.array([0.0, 1.0] * 50))).low > 0.35
    True
    """
    return _percentiles(score.corpus, resampled(score, samples, seed), level)


def paired_difference(
    first: Score, second: Score, samples: int = SAMPLES, level: float = 0.95, seed: int = 0
) -> CaptionInterval:
    """Second minus first, on the same resampled images; an interval without zero means a significant difference."""
    if len(first.each) != len(second.each):
        raise InputError(
            f"A paired comparison needs the same images; got {len(first.each)} and {len(second.each)} captions."
        )
    drawn = resampled(second, samples, seed) - resampled(first, samples, seed)
    return _percentiles(second.corpus - first.corpus, drawn, level)


def _percentiles(value: float, drawn: np.ndarray, level: float) -> CaptionInterval:
    return CaptionInterval(value, *percentile_interval(drawn, level))
