"""Mismatched captions (contrastive captioning paper, section 4.2): other images' captions, redrawn at every step."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from tellapart.core.distributed import group
from tellapart.core.errors import InputError
from tellapart.data.pack import Pack


class MismatchedImages(nn.Module):
    """Draws other images from a random permutation of the split, so that all are drawn equally often.

    An image never gets itself: that entry is skipped. A used-up permutation is shuffled again. Order and position are
    buffers, so that a resumed run continues where it stopped.
    """

    order: Tensor
    position: Tensor

    def __init__(self, images: np.ndarray) -> None:
        super().__init__()
        if len(images) < 2:
            raise InputError("Mismatched captions need at least two images in the training split.")
        self.register_buffer("order", torch.from_numpy(np.array(images))[torch.randperm(len(images))])
        self.register_buffer("position", torch.zeros((), dtype=torch.long))

    def draw(self, own: Tensor) -> Tensor:
        """The pack row of another image for each of the images with pack rows `own` [S]: [S]."""
        us = group()
        # All processes share one permutation. Each takes every world-th entry of what all of them need.
        wanted = own.cpu().repeat_interleave(us.world)
        order = self.order.cpu()
        upcoming = order[int(self.position) :]
        while True:
            while len(upcoming) < len(wanted):
                order = order[torch.randperm(len(order))]
                upcoming = torch.cat([upcoming, order])
            clash = (upcoming[: len(wanted)] == wanted).nonzero()
            if not len(clash):
                break
            first = int(clash[0])
            upcoming = torch.cat([upcoming[:first], upcoming[first + 1 :]])
        self.order.copy_(order)
        self.position.fill_(len(order) - (len(upcoming) - len(wanted)))
        return upcoming[us.rank : len(wanted) : us.world]


def captions_of(pack: Pack, images: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pack rows of at most counts[s] captions of images[s], and the index s of each.

    If an image has more captions, the first one is chosen at random and the next ones follow it.
    """
    rows, slots = [], []
    for slot, (image, count) in enumerate(zip(images.tolist(), counts.tolist())):
        own = pack.captions_of[image]
        first = int(torch.randint(len(own), ())) if count < len(own) else 0
        rows.extend((own[first:] + own[:first])[:count])
        slots.extend([slot] * min(count, len(own)))
    return np.asarray(rows, dtype=np.int64), np.asarray(slots, dtype=np.int64)
