"""Whether a training step is being recorded as a CUDA graph (training/replay.py).

A recorded step is replayed with other batches of the same shapes, so nothing in it may depend on what the batch holds:
no rows left out because they are padding, no number asked of the device. Code that leaves out padding to save work asks
`recording()` and keeps all rows instead; its results are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_RECORDING: ContextVar[bool] = ContextVar("recording", default=False)


def recording() -> bool:
    return _RECORDING.get()


@contextmanager
def recorded() -> Iterator[None]:
    """What runs inside keeps to shapes that every batch like this one has."""
    token = _RECORDING.set(True)
    try:
        yield
    finally:
        _RECORDING.reset(token)
