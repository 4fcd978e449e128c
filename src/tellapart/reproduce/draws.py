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
from tellapart.reproduce.measures import RANKS

STORED = "drawn_"
"""Beginning of the names of arrays that are bootstrapped values already."""


def drawn_of_run(cache: Cache, key: str, measure: str, metric: str) -> np.ndarray | None:
    """A metric of a cached run on SAMPLES bootstrapped test sets [samples]; None where the cache has no items."""
    path = cache.items_path(key, measure)
    if not path.is_file():
        return None
    return _drawn(path, path.stat().st_mtime_ns).get(metric)


@lru_cache(maxsize=4096)
def _drawn(path: Path, changed: int) -> dict[str, np.ndarray]:
    """All metrics of a file at once; `changed` makes a rewritten file a new entry."""
    with np.load(path, allow_pickle=False) as stored:
        return all_draws({name: stored[name] for name in stored.files})


def all_draws(items: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Every metric on SAMPLES bootstrapped test sets: name -> [samples]. Stored draws come before computed ones."""
    found: dict[str, np.ndarray] = {}
    for name, values in items.items():
        if values.ndim == 1 and values.dtype.kind == "f" and not name.startswith(STORED):
            found[name] = _weights(len(values)) @ values.astype(np.float64)
    if all(name in items for name in RANKS):
        ranks = Ranks(*(torch.from_numpy(items[name].astype(np.int64)) for name in RANKS))
        found |= resampled(ranks, _weights(len(items[RANKS[0]])))
    for name, values in items.items():
        if name.startswith(STORED):
            found[name.removeprefix(STORED)] = values.astype(np.float64)
    return found


def bootstrap_draws(metric: str, items: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """One metric on SAMPLES bootstrapped test sets [samples]; None where the items do not have it."""
    return all_draws(items).get(metric)


@lru_cache(maxsize=2)
def _weights(images: int) -> np.ndarray:
    """[samples, I]; drawing them takes longer than using them."""
    return image_weights(images, SAMPLES, 0)
