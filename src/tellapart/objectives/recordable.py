"""Objectives whose training step can be recorded once and replayed (training/replay.py)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from torch import nn

from tellapart.core.types import Batch


class Recordable(nn.Module):
    """An objective in two parts: `prepare` runs on the host, `forward` computes on the device alone.

    `forward(batch, prepared)` may not read a number from the device, and its shapes may not depend on values there.
    Without `prepared` it calls `prepare` itself.
    """

    def prepare(self, batch: Batch) -> Any:
        """What `forward` needs besides the batch: a tuple of tensors and dataclasses of tensors."""
        return ()

    def phase(self) -> Hashable:
        """What Python decides about the next step: steps with different phases are recorded separately."""
        return None
