"""Confidence of retrieval metrics: bootstrap intervals, and paired comparisons of two models.

Images are drawn with replacement, together with their captions: five captions of one image are not five independent
queries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from tellapart.core.errors import InputError
from tellapart.metrics.percentiles import percentile_interval
from tellapart.metrics.retrieval.recall import CUTOFFS, Ranks

SAMPLES = 2000


@dataclass(frozen=True)
class Interval:
    """The bounds of an interval."""

    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """`difference` is second minus first; `p` is the two-sided bootstrap probability of the other sign."""

    difference: float
    low: float
    high: float
    p: float


def intervals(ranks: Ranks, samples: int = SAMPLES, level: float = 0.95, seed: int = 0) -> dict[str, Interval]:
    """Percentile intervals of R@K in both directions and of rsum."""
    drawn = resampled(ranks, image_weights(_images(ranks), samples, seed))  # name -> [samples]
    return {name: Interval(*percentile_interval(values, level)) for name, values in drawn.items()}


def compare(
    first: Ranks, second: Ranks, samples: int = SAMPLES, level: float = 0.95, seed: int = 0
) -> dict[str, Comparison]:
    """The difference between two models on the same queries, with the same resampled images for both."""
    if _images(first) != _images(second) or not torch.equal(first.owner.cpu(), second.owner.cpu()):
        raise InputError("A paired bootstrap needs two models on the same images and captions.")
    weights = image_weights(_images(first), samples, seed)
    whole = np.full((1, _images(first)), 1.0 / _images(first))
    before, after = resampled(first, weights), resampled(second, weights)
    point_before, point_after = resampled(first, whole), resampled(second, whole)
    results = {}
    for name in before:
        difference = after[name] - before[name]
        low, high = percentile_interval(difference, level)
        p = min(1.0, 2 * min(float((difference <= 0).mean()), float((difference >= 0).mean())))
        point = float(point_after[name][0] - point_before[name][0])
        results[name] = Comparison(point, low, high, p)
    return results


def _images(ranks: Ranks) -> int:
    return len(ranks.image_to_text)


def image_weights(images: int, samples: int, seed: int) -> np.ndarray:
    """[samples, I]: how often each image is drawn, divided by the number of draws."""
    return np.random.default_rng(seed).multinomial(images, [1 / images] * images, size=samples) / images


def resampled(ranks: Ranks, weights: np.ndarray) -> dict[str, np.ndarray]:
    """R@K in both directions and rsum [samples] for image weights [samples, I]."""
    owner = ranks.owner.cpu().numpy()
    forward, backward = ranks.image_to_text.cpu().numpy(), ranks.text_to_image.cpu().numpy()
    images = len(forward)
    captions = np.bincount(owner, minlength=images).astype(np.float64)  # [I]
    found: dict[str, np.ndarray] = {}
    for cutoff in CUTOFFS:
        found[f"i2t_r{cutoff}"] = 100 * weights @ (forward < cutoff).astype(np.float64)
    for cutoff in CUTOFFS:
        hits = np.bincount(owner, weights=(backward < cutoff).astype(np.float64), minlength=images)
        found[f"t2i_r{cutoff}"] = 100 * (weights @ hits) / (weights @ captions)
    return {**found, "rsum": np.sum(list(found.values()), axis=0)}
