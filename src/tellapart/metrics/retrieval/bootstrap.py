"""How sure a retrieval figure is: bootstrap intervals over queries, and paired comparisons of two models.

Images are drawn with replacement and take their sentences along: five sentences of one image are not five
independent queries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from tellapart.core.errors import InputError
from tellapart.metrics.retrieval.recall import CUTOFFS, Ranks

SAMPLES = 2000


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """`difference` is second minus first; `p` the two-sided bootstrap probability of a difference of the
    other sign."""

    difference: float
    low: float
    high: float
    p: float


def intervals(ranks: Ranks, samples: int = SAMPLES, level: float = 0.95, seed: int = 0) -> dict[str, Interval]:
    """Percentile intervals of R@K both ways and rsum."""
    drawn = resampled(ranks, image_weights(_images(ranks), samples, seed))  # name -> [samples]
    tail = 50 * (1 - level)
    return {
        name: Interval(*(float(v) for v in np.percentile(values, (tail, 100 - tail)))) for name, values in drawn.items()
    }


def compare(
    first: Ranks, second: Ranks, samples: int = SAMPLES, level: float = 0.95, seed: int = 0
) -> dict[str, Comparison]:
    """Is `second` better than `first` on the same queries? Both see the same resampled images."""
    if _images(first) != _images(second) or not torch.equal(first.owner.cpu(), second.owner.cpu()):
        raise InputError("Two models can be compared by paired bootstrap only on the same images and sentences.")
    weights = image_weights(_images(first), samples, seed)
    whole = np.full((1, _images(first)), 1.0 / _images(first))
    before, after = resampled(first, weights), resampled(second, weights)
    point_before, point_after = resampled(first, whole), resampled(second, whole)
    tail = 50 * (1 - level)
    results = {}
    for name in before:
        difference = after[name] - before[name]
        low, high = np.percentile(difference, (tail, 100 - tail))
        p = min(1.0, 2 * min(float((difference <= 0).mean()), float((difference >= 0).mean())))
        point = float(point_after[name][0] - point_before[name][0])
        results[name] = Comparison(point, float(low), float(high), p)
    return results


def _images(ranks: Ranks) -> int:
    return len(ranks.image_to_text)


def image_weights(images: int, samples: int, seed: int) -> np.ndarray:
    """[samples, I]: how often each image was drawn, over the number drawn."""
    return np.random.default_rng(seed).multinomial(images, [1 / images] * images, size=samples) / images


def resampled(ranks: Ranks, weights: np.ndarray) -> dict[str, np.ndarray]:
    owner = ranks.owner.cpu().numpy()
    forward, backward = ranks.image_to_text.cpu().numpy(), ranks.text_to_image.cpu().numpy()
    images = len(forward)
    sentences = np.bincount(owner, minlength=images).astype(np.float64)  # [I]
    found: dict[str, np.ndarray] = {}
    for cutoff in CUTOFFS:
        found[f"i2t_r{cutoff}"] = 100 * weights @ (forward < cutoff).astype(np.float64)
    for cutoff in CUTOFFS:
        hits = np.bincount(owner, weights=(backward < cutoff).astype(np.float64), minlength=images)
        found[f"t2i_r{cutoff}"] = 100 * (weights @ hits) / (weights @ sentences)
    return {**found, "rsum": np.sum(list(found.values()), axis=0)}
