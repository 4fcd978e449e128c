"""Several processes as one: who we are, and gathering with gradient. Every function is the identity for one process.

The sum of what the ranks do equals one process with the whole batch: each rank computes the loss over everything
gathered, the gather's backward adds up all ranks' gradients for our own rows (world times too much), and the averaging
of gradients over ranks divides by world again.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from tellapart.core.types import Encoded


@dataclass(frozen=True)
class Group:
    rank: int
    world: int

    @property
    def is_main(self) -> bool:
        return self.rank == 0


_working_alone = False


def group() -> Group:
    if _working_alone:
        return Group(0, 1)
    if dist.is_available() and dist.is_initialized():
        return Group(dist.get_rank(), dist.get_world_size())
    return Group(0, 1)


def join(device: str) -> Group:
    """Join the group that torchrun started, if it did; afterwards `group()` says who we are."""
    if "RANK" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1 and not dist.is_initialized():
        dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
        # A process that ends with its group's threads still running may be aborted, and torchrun then calls it failed.
        atexit.register(_leave)
    return group()


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


@contextmanager
def alone() -> Iterator[None]:
    """For what one rank does while the others wait: within it nothing is gathered from them."""
    global _working_alone
    before, _working_alone = _working_alone, True
    try:
        yield
    finally:
        _working_alone = before


def barrier() -> None:
    if group().world > 1:
        dist.barrier()


def agree(value: Any) -> Any:
    """The main process's value, on every process: numbers, strings, plain dicts."""
    if group().world == 1:
        return value
    held = [value]
    dist.broadcast_object_list(held, src=0)
    return held[0]


class _GatherRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, counts: list[int]) -> Tensor:
        ctx.counts, ctx.rank = counts, dist.get_rank()
        most = max(counts)
        padded = rows.new_zeros((most, *rows.shape[1:]))
        padded[: rows.shape[0]] = rows
        parts = [torch.empty_like(padded) for _ in counts]
        dist.all_gather(parts, padded)
        return torch.cat([part[:count] for part, count in zip(parts, counts)])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        total = gradient.contiguous().clone()
        dist.all_reduce(total)
        first = sum(ctx.counts[: ctx.rank])
        return total[first : first + ctx.counts[ctx.rank]], None


def gather_rows(rows: Tensor) -> Tensor:
    """All ranks' rows, in rank order, with gradient; ranks may hold different numbers of rows."""
    if group().world == 1:
        return rows
    counts = _everyones(rows.shape[0], rows.device)
    if rows.dtype == torch.bool:
        return _GatherRows.apply(rows.to(torch.uint8), counts).bool()
    return _GatherRows.apply(rows, counts)


def gather(encoded: Encoded) -> Encoded:
    """All ranks' vectors; local vectors are first padded to the longest on any rank."""
    if group().world == 1:
        return encoded
    if encoded.mask is None:
        return Encoded(gather_rows(encoded.vectors))
    length = encoded.vectors.shape[1]
    missing = max(_everyones(length, encoded.vectors.device)) - length

    def everywhere(mask: Tensor | None) -> Tensor | None:
        return None if mask is None else gather_rows(torch.nn.functional.pad(mask, (0, missing)))

    vectors = torch.nn.functional.pad(encoded.vectors, (0, 0, 0, missing))
    return Encoded(gather_rows(vectors), everywhere(encoded.mask), everywhere(encoded.counted))


def gather_owner(owner: Tensor, images: int) -> Tensor:
    """All ranks' `owner`, shifted so that it points into the gathered images."""
    if group().world == 1:
        return owner
    counts = _everyones(images, owner.device)
    return gather_rows(owner + sum(counts[: group().rank]))


def global_mean(total: Tensor, count: Tensor | int) -> Tensor:
    """Mean over all ranks of a quantity each rank holds a sum and a count of, right in value and in gradient.

    Its value on a rank is that rank's share times world, so that averaging over ranks gives the mean.
    """
    if group().world == 1:
        return total / (count.clamp(min=1) if isinstance(count, Tensor) else max(count, 1))
    everyone = torch.as_tensor(count, dtype=total.dtype, device=total.device).detach().clone()
    dist.all_reduce(everyone)
    return total * group().world / everyone.clamp(min=1)


def _everyones(number: int, device: torch.device) -> list[int]:
    mine = torch.tensor([number], device=device)
    parts = [torch.empty_like(mine) for _ in range(group().world)]
    dist.all_gather(parts, mine)
    return [int(part) for part in parts]
