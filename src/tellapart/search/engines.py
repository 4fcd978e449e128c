"""The engines that encode photos for an index: in this process, or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from tellapart.core.errors import InputError
from tellapart.search.embedded import Embeds
from tellapart.search.examined import Engine
from tellapart.search.local_engine import local_engine

EngineName = Literal["local", "ray"]
RAY_WORKERS = 2


def engine_factory(
    name: EngineName, embedder: Embeds, make: Callable[[], Embeds], chunk: int, workers: int = 0, gpus: float = 0
) -> Callable[[np.ndarray], Engine]:
    """A function that takes the hashes of known contents and gives an engine.

    embedder: encodes in this process. make: opens the models on each of `workers` Ray workers, which take `gpus` GPUs.
    """
    if chunk < 1:
        raise InputError(f"`chunk` must be at least 1, not {chunk}.")
    if name == "local":
        return lambda contents: local_engine(embedder, contents)
    if name == "ray":
        from tellapart.search.ray_engine import ray_engine

        return lambda contents: ray_engine(make, contents, workers or RAY_WORKERS, chunk, gpus)
    raise InputError(f"`engine` must be local or ray, not '{name}'.")
