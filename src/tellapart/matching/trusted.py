"""A matcher's attention, kept to regions that a detector vouches for.

Boxes that only fill up a picture's number of regions are no things, yet a matcher likes them: they show much at once.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tellapart.errors import InputError
from tellapart.vision.store import FeatureStore

AMONG = ("all", "detected", "sure")


class Trusted:
    """Attention among all regions, among `detected` ones alone, or among these times how `sure` the detector is.

    Words look as before in a picture where nothing was detected, or where they looked at nothing detected.
    """

    def __init__(self, among: str, store: FeatureStore | None, device: torch.device) -> None:
        if among not in AMONG:
            raise InputError(f"A teacher looks among {', '.join(AMONG)} regions, not '{among}'.")
        self.among = among
        self.trust: Tensor | None = None  # [I, R]
        if among == "all":
            return
        if store is None or store.scores is None:
            raise InputError(f"Looking among '{among}' regions needs features of regions that a detector found.")
        rows, mask = store.gather(np.arange(len(store)))
        scores = torch.from_numpy(np.where(mask, store.scores[rows], 0).astype(np.float32)).to(device)
        self.trust = (scores > 0).float() if among == "detected" else scores

    def __call__(self, attention: Tensor, pictures: Tensor) -> Tensor:
        """[M, R] of words about `pictures` [M], rows of the pack; what is left sums to what the row summed to."""
        if self.trust is None:
            return attention
        kept = attention * self.trust[pictures, : attention.shape[1]]
        left = kept.sum(-1, keepdim=True)
        whole = attention.sum(-1, keepdim=True)
        return torch.where(left > 0, kept * whole / left.clamp(min=1e-12), attention)
