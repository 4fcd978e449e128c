"""Training batches, made in the background, and how long training waited for each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import TypeVar

from tellapart.core.distributed import group
from tellapart.core.types import Batch
from tellapart.data.batches import Batches, background_results
from tellapart.data.sampling import Draw, share_of_rank

Item = TypeVar("Item")


def prefetch(batches: Batches, draws: list[Draw]) -> Iterator[Batch]:
    """This process's share of each drawn batch, made in the background."""
    us, owner = group(), batches.pack.owner
    return background_results(
        [partial(make_batch, batches, share_of_rank(draw, owner, us.rank, us.world)) for draw in draws]
    )


def make_batch(batches: Batches, draw: Draw) -> Batch:
    """The batch of the drawn rows."""
    if draw.images is None:
        return batches.batch(draw.captions, draw.seed)
    return batches.images_and_captions(draw.images, draw.captions, draw.seed)


def timed(items: Iterator[Item]) -> Iterator[tuple[Item, float]]:
    """Each item with the seconds spent waiting for it."""
    while True:
        before = time.monotonic()
        try:
            item = next(items)
        except StopIteration:
            return
        yield item, time.monotonic() - before
