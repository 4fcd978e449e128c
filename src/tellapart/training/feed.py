"""Batches to learn from, made in the background, and how long each kept us waiting."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from tellapart.core.distributed import group
from tellapart.core.types import Batch
from tellapart.data.batches import Batches, made_ahead
from tellapart.data.sampling import Draw, share_of_rank


def prefetched(batches: Batches, draws: list[Draw]) -> Iterator[Batch]:
    """Our rank's share of each drawn batch, made in the background."""
    us, owner = group(), batches.pack.owner
    return made_ahead([partial(made, batches, share_of_rank(draw, owner, us.rank, us.world)) for draw in draws])


def made(batches: Batches, draw: Draw) -> Batch:
    return (
        batches.batch(draw.captions, draw.seed)
        if draw.images is None
        else batches.images_and_captions(draw.images, draw.captions, draw.seed)
    )


def timed(items: Iterator[Any]) -> Iterator[tuple[Any, float]]:
    """Each item with the seconds it kept us waiting."""
    while True:
        before = time.monotonic()
        try:
            item = next(items)
        except StopIteration:
            return
        yield item, time.monotonic() - before
