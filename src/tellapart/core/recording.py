"""Whether a training step is being recorded as a CUDA graph (training/replay.py).

A recorded step is replayed with other batches of the same shapes, so nothing in it may depend on the values of a batch:
it must not skip padding rows or read a number from the device. Code that skips padding to save work checks
`recording()` and then keeps all rows; the results are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_RECORDING: ContextVar[bool] = ContextVar("recording", default=False)


def recording() -> bool:
    """Whether the current step is being recorded."""
    return _RECORDING.get()


@contextmanager
def recorded() -> Iterator[None]:
    """Mark the block as being recorded."""
    token = _RECORDING.set(True)
    try:
        yield
    finally:
        _RECORDING.reset(token)
