"""A matcher's attention, kept to regions that a detector vouches for.

Boxes that only fill up an image's number of regions are no things, but a matcher may look at them all the same.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.data.feature_store import FeatureStore

ALL = "all"
AMONG = (ALL, "detected", "sure")


def has_detections(store: FeatureStore | None) -> bool:
    """Whether any of its regions is more than a box that fills up their number."""
    return store is not None and store.scores is not None and bool((store.scores[:] > 0).any())


class DetectedAttention:
    """Attention among all regions, among `detected` ones alone, or among these times how `sure` the detector is.

    Words look as before in an image where nothing was detected, or where they looked at nothing detected.
    """

    def __init__(self, among: str, store: FeatureStore | None, device: torch.device) -> None:
        if among not in AMONG:
            raise InputError(f"A teacher looks among {', '.join(AMONG)} regions, not '{among}'.")
        self.trust: Tensor | None = None  # [I, R]
        if among == ALL:
            return
        if not has_detections(store):
            raise InputError(
                f"Looking among '{among}' regions needs regions that a detector found; extract them from a pack with "
                "detections, or with --regions-from DETECTOR."
            )
        assert store is not None and store.scores is not None
        rows, mask = store.gather(np.arange(len(store)))
        scores = torch.from_numpy(np.where(mask, store.scores[rows], 0).astype(np.float32)).to(device)
        self.trust = (scores > 0).float() if among == "detected" else scores

    def __call__(self, attention: Tensor, images: Tensor) -> Tensor:
        """[M, R] of words about `pictures` [M], rows of the pack; what is left sums to what the row summed to."""
        if self.trust is None:
            return attention
        kept = attention * self.trust[images, : attention.shape[1]]
        left = kept.sum(-1, keepdim=True)
        whole = attention.sum(-1, keepdim=True)
        return torch.where(left > 0, kept * whole / torch.where(left > 0, left, 1.0), attention)
