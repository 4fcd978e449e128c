"""Training in several processes: ranks, and gathering with gradient. Every function is the identity for one process.

All ranks together equal one process with the whole batch. Each rank computes the loss over all gathered rows, the
backward of the gather sums the gradients of all ranks for its own rows (world times too much), and averaging gradients
over ranks divides by world again.
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
    """This process and the number of processes."""

    rank: int
    world: int

    @property
    def is_main(self) -> bool:
        """Whether this process writes files and logs."""
        return self.rank == 0


_single_process = False


def group() -> Group:
    """This process's rank and the number of processes; 0 of 1 without a process group."""
    if _single_process:
        return Group(0, 1)
    if dist.is_available() and dist.is_initialized():
        return Group(dist.get_rank(), dist.get_world_size())
    return Group(0, 1)


def join_group(device: str) -> Group:
    """Join the process group that torchrun started, if it did."""
    if "RANK" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1 and not dist.is_initialized():
        dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
        # A process that ends while its group's threads run may be aborted, which torchrun reports as a failure.
        atexit.register(_leave_group)
    return group()


def local_rank() -> int:
    """The number of this process among those of its machine, which is the number of its GPU; 0 without torchrun."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def _leave_group() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


@contextmanager
def single_process() -> Iterator[None]:
    """Act as one process inside the block, for work of one rank while the others wait: nothing is gathered."""
    global _single_process
    before, _single_process = _single_process, True
    try:
        yield
    finally:
        _single_process = before


def barrier() -> None:
    """Wait for all processes."""
    if group().world > 1:
        dist.barrier()


def from_main(value: Any) -> Any:
    """The main process's value on every process: numbers, strings, plain dicts."""
    if group().world == 1:
        return value
    values = [value]
    dist.broadcast_object_list(values, src=0)
    return values[0]


def every_value(value: Any) -> list[Any]:
    """What each process gave, in the order of ranks: plain values and tensors of the CPU."""
    if group().world == 1:
        return [value]
    values: list[Any] = [None] * group().world
    dist.all_gather_object(values, value)
    return values


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
    """The rows of all ranks in rank order, with gradient; ranks may hold different numbers of rows."""
    if group().world == 1:
        return rows
    counts = _of_every_rank(rows.shape[0], rows.device)
    is_bool = rows.dtype == torch.bool
    gathered: Tensor = _GatherRows.apply(rows.to(torch.uint8) if is_bool else rows, counts)  # type: ignore[no-untyped-call]
    return gathered.bool() if is_bool else gathered


def gather(encoded: Encoded) -> Encoded:
    """The vectors of all ranks; local vectors are first padded to the longest on any rank."""
    if group().world == 1:
        return encoded
    if encoded.mask is None:
        return Encoded(gather_rows(encoded.vectors))
    length = encoded.vectors.shape[1]
    missing = max(_of_every_rank(length, encoded.vectors.device)) - length

    def gathered(mask: Tensor | None) -> Tensor | None:
        return None if mask is None else gather_rows(torch.nn.functional.pad(mask, (0, missing)))

    vectors = torch.nn.functional.pad(encoded.vectors, (0, 0, 0, missing))
    return Encoded(gather_rows(vectors), gathered(encoded.mask), gathered(encoded.counted))


def gather_owner(owner: Tensor, images: int) -> Tensor:
    """The `owner` of all ranks, shifted so that it points into the gathered images."""
    if group().world == 1:
        return owner
    counts = _of_every_rank(images, owner.device)
    return gather_rows(owner + sum(counts[: group().rank]))


def rows_before(count: int, device: torch.device) -> int:
    """How many rows the ranks before this one hold; `count` is how many this one holds."""
    return 0 if group().world == 1 else sum(_of_every_rank(count, device)[: group().rank])


def global_mean(total: Tensor, count: Tensor | int) -> Tensor:
    """Mean over all ranks of a quantity of which each rank holds a sum and a count, correct in value and gradient.

    The value on a rank is its share times world, so that averaging over ranks gives the mean.
    """
    if group().world == 1:
        return total / (count.clamp(min=1) if isinstance(count, Tensor) else max(count, 1))
    counts = torch.as_tensor(count, dtype=total.dtype, device=total.device).detach().clone()
    dist.all_reduce(counts)
    return total * group().world / counts.clamp(min=1)


def mean_over_ranks(values: dict[str, Tensor]) -> dict[str, Tensor]:
    """The mean over all ranks of each scalar; the ranks have the same names."""
    if group().world == 1 or not values:
        return values
    means = torch.stack(list(values.values()))
    dist.all_reduce(means)
    return dict(zip(values, means / group().world))


def global_count(number: int, device: torch.device) -> int:
    """The sum of this number over all ranks."""
    return number if group().world == 1 else sum(_of_every_rank(number, device))


def _of_every_rank(number: int, device: torch.device) -> list[int]:
    """This number of every rank, in rank order."""
    mine = torch.tensor([number], device=device)
    parts = [torch.empty_like(mine) for _ in range(group().world)]
    dist.all_gather(parts, mine)
    return [int(part) for part in parts]
