"""Tensors of which every process holds a part (DTensor); every function is the identity for plain tensors.

The class is recognised by its methods: importing it takes a second, which training in one process need not spend.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor


def whole_tensor(value: Tensor) -> Tensor:
    """All parts of a tensor on every process; all processes must call it together."""
    return value.full_tensor() if _is_sharded(value) else value  # type: ignore[attr-defined]


def own_part(value: Tensor) -> Tensor:
    """The part of a tensor that this process holds."""
    return value.to_local() if _is_sharded(value) else value  # type: ignore[attr-defined]


def shard_like(value: Tensor, other: Any) -> Tensor:
    """The part of `value`, known to all processes, that this one holds of `other`; plain where the shapes differ."""
    if not _is_sharded(other) or value.shape != other.shape:
        return value
    from torch.distributed.tensor import distribute_tensor

    # Every process cuts its part out of what it has read; nothing is sent.
    return distribute_tensor(value.to(other.device), other.device_mesh, other.placements, src_data_rank=None)


def _is_sharded(value: Tensor) -> bool:
    return hasattr(value, "full_tensor")
