"""Objectives whose training step can be recorded once and replayed (training/replay.py)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from torch import nn

from tellapart.core.types import Batch


class Recordable(nn.Module):
    """An objective in two parts: `prepare` does what a host must do, `forward` only computes on the device.

    `forward(batch, prepared)` may neither ask the device for a number nor have shapes that depend on what it holds;
    called without `prepared` it prepares by itself.
    """

    def prepare(self, batch: Batch) -> Any:
        """What `forward` needs beside the batch: a tuple of tensors and dataclasses of tensors."""
        return ()

    def phase(self) -> Hashable:
        """What of the next step is decided by Python: steps that differ in it are recorded apart."""
        return None
