"""The random states of all processes, as tensors and plain values that a checkpoint stores.

The main process's have the names that runs of one process use, so that either can resume the other. Those of process
r > 0 begin with "random{r}.".
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tellapart.core.distributed import every_value, group, local_rank


def random_states() -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and plain values; all processes must call it together."""
    tensors: dict[str, Tensor] = {}
    plain: dict[str, Any] = {}
    others = []
    for rank, (state, values) in enumerate(every_value(_own())):
        tensors |= {_name(rank, name): value for name, value in state.items()}
        if rank == 0:
            plain = values
        else:
            others.append(values)
    return tensors, plain | ({"others": others} if others else {})


def restore_random(tensors: dict[str, Tensor], plain: dict[str, Any]) -> None:
    """Set the states of this process. A process that the checkpoint knows nothing of keeps its own."""
    rank = group().rank
    if _name(rank, "torch") not in tensors:
        return
    values = plain if rank == 0 else plain["others"][rank - 1]
    version, keys, gauss = values["python"]
    random.setstate((version, tuple(keys), gauss))
    kind, spot, has_gauss, cached = values["numpy"]
    numbers = tensors[_name(rank, "numpy")].numpy().astype(np.uint32)
    np.random.set_state((kind, numbers, spot, has_gauss, cached))
    torch.set_rng_state(tensors[_name(rank, "torch")])
    for number in range(torch.cuda.device_count()):
        if (name := _name(rank, f"cuda{number}")) in tensors:
            torch.cuda.set_rng_state(tensors[name], number)


def draw_apart() -> None:
    """Give each process but the main one another seed, so that they do not all drop out the same numbers."""
    if rank := group().rank:
        torch.manual_seed(int(np.random.SeedSequence((torch.initial_seed(), rank)).generate_state(1)[0]))


def _own() -> tuple[dict[str, Tensor], dict[str, Any]]:
    kind, keys, spot, gauss, cached = np.random.get_state()
    tensors = {"torch": torch.get_rng_state(), "numpy": torch.from_numpy(np.asarray(keys).astype(np.int64))}
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        alone = group().world == 1
        used = range(torch.cuda.device_count()) if alone else [local_rank()]
        tensors |= {f"cuda{number}": torch.cuda.get_rng_state(number) for number in used}
    version, numbers, cached_gauss = random.getstate()
    of_numpy = [str(kind), int(spot), int(gauss), float(cached)]
    return tensors, {"python": [version, list(numbers), cached_gauss], "numpy": of_numpy}


def _name(rank: int, name: str) -> str:
    return f"random{rank or ''}.{name}"
