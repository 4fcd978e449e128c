"""A matcher's attention restricted to regions that a detector found.

A matcher may also attend to boxes that only fill up an image's number of regions; those show no object.
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
    """Whether a detector found any of the regions; the others only fill up their number."""
    return store is not None and store.scores is not None and bool((store.scores[:] > 0).any())


class DetectedAttention:
    """Attention over `all` regions, over `detected` ones alone, or over these times the detector's score (`sure`).

    Attention stays as it is in images without detections, and for words without attention on a detection.
    """

    def __init__(self, among: str, store: FeatureStore | None, device: torch.device) -> None:
        if among not in AMONG:
            raise InputError(f"among must be one of {', '.join(AMONG)}, not '{among}'.")
        self.confidence: Tensor | None = None  # [I, R]
        if among == ALL:
            return
        if not has_detections(store):
            raise InputError(
                f"among={among} needs regions that a detector found; extract them from a pack with detections, or with "
                "`regions_from='DETECTOR'`."
            )
        assert store is not None and store.scores is not None
        rows, mask = store.gather(np.arange(len(store)))
        scores = torch.from_numpy(np.where(mask, store.scores[rows], 0).astype(np.float32)).to(device)
        self.confidence = (scores > 0).float() if among == "detected" else scores

    def __call__(self, attention: Tensor, images: Tensor) -> Tensor:
        """Restricted attention [M, R] of words of `images` [M] (rows of the pack); row sums stay the same."""
        if self.confidence is None:
            return attention
        kept = attention * self.confidence[images, : attention.shape[1]]
        rest = kept.sum(-1, keepdim=True)
        whole = attention.sum(-1, keepdim=True)
        return torch.where(rest > 0, kept * whole / torch.where(rest > 0, rest, 1.0), attention)
