"""Precision of logits."""

from __future__ import annotations

import torch
from torch import Tensor


def at_least_float(logits: Tensor) -> Tensor:
    """Logits in float32, or float64 if they are: half precision is too coarse for a softmax over thousands of words."""
    return logits if logits.dtype == torch.float64 else logits.float()
