"""Values of a run on bootstrapped test sets: the same images in every run and every cell.

Images are drawn with replacement, each with its captions. A measure stores ranks, one value per image, or the
bootstrapped values themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from tellapart.metrics.retrieval.bootstrap import SAMPLES, image_weights, resampled
from tellapart.metrics.retrieval.recall import Ranks
from tellapart.reproduce.cache import Cache
from tellapart.reproduce.measures import IN_FOLDS, RANKS

STORED = "drawn_"
"""Beginning of the names of arrays that are bootstrapped values already."""


def drawn_of_run(cache: Cache, key: str, measure: str, metric: str) -> np.ndarray | None:
    """A metric of a cached run on SAMPLES bootstrapped test sets [samples]; None where the cache has no items."""
    path = cache.items_path(key, measure)
    return _drawn(path, path.stat().st_mtime_ns, metric) if path.is_file() else None


@lru_cache(maxsize=16384)
def _drawn(path: Path, changed: int, metric: str) -> np.ndarray | None:
    """`changed` makes a rewritten file a new entry."""
    with np.load(path, allow_pickle=False) as stored:
        names = set(stored.files)
        if f"{STORED}{metric}" not in names and names.issuperset(RANKS):
            found = _drawn_ranks(path, changed)
            if metric in found:
                return found[metric]
        return bootstrap_draws(metric, {name: stored[name] for name in names & {metric, f"{STORED}{metric}"}})


@lru_cache(maxsize=1024)
def _drawn_ranks(path: Path, changed: int) -> dict[str, np.ndarray]:
    """All recalls of a file at once, those in folds too."""
    with np.load(path, allow_pickle=False) as stored:
        return _resampled(dict(stored))


def bootstrap_draws(metric: str, items: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """A metric on SAMPLES bootstrapped test sets [samples]: as stored, from ranks, or from one value per image; None
    where the items do not have it."""
    if f"{STORED}{metric}" in items:
        return items[f"{STORED}{metric}"].astype(np.float64)
    if all(name in items for name in RANKS):
        found = _resampled(items)
        if metric in found:
            return found[metric]
    if metric in items:
        drawn: np.ndarray = _weights(len(items[metric])) @ items[metric].astype(np.float64)
        return drawn
    return None


def _resampled(items: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Recalls, and where there are ranks within folds, those too: folds have one size, so that the mean over folds is
    the mean over images."""
    found: dict[str, np.ndarray] = {}
    for beginning in ("", IN_FOLDS):
        names = [beginning + name for name in RANKS]
        if all(name in items for name in names):
            ranks = Ranks(*(torch.from_numpy(items[name].astype(np.int64)) for name in names))
            drawn = resampled(ranks, _weights(len(items[names[0]])))
            found |= {beginning + name: values for name, values in drawn.items()}
    return found


@lru_cache(maxsize=2)
def _weights(images: int) -> np.ndarray:
    """[samples, I]; drawing them takes longer than using them."""
    return image_weights(images, SAMPLES, 0)
