"""AdamW with learning rates of their own for backbone, text side and the rest, and the schedule over time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from tellapart.training.end_to_end.joint import JointModel


@dataclass(frozen=True)
class Rates:
    """Learning rates and weight decays by part of the model."""

    backbone: float = 4e-4
    text: float = 1e-4
    rest: float = 7e-4
    backbone_decay: float = 1e-4
    decay: float = 1e-2


def optimiser(model: JointModel, rates: Rates, fused: bool) -> torch.optim.AdamW:
    """Vectors (biases, norms) do not decay. Each group keeps its peak learning rate as `peak`."""
    text = set(model.matcher.text.parameters())
    backbone = set(model.backbone.parameters())
    rest = [p for p in model.parameters() if p not in text and p not in backbone]
    groups = [
        *_groups(list(model.backbone.parameters()), rates.backbone, rates.backbone_decay),
        *_groups(list(model.matcher.text.parameters()), rates.text, rates.decay),
        *_groups(rest, rates.rest, rates.decay),
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], betas=(0.9, 0.98), fused=fused)


def _groups(parameters: list[nn.Parameter], peak: float, decay: float) -> list[dict[str, Any]]:
    matrices = [p for p in parameters if p.ndim >= 2]
    vectors = [p for p in parameters if p.ndim < 2]
    return [
        {"params": matrices, "lr": peak, "peak": peak, "weight_decay": decay},
        {"params": vectors, "lr": peak, "peak": peak, "weight_decay": 0.0},
    ]


def learning_rate_factor(step: int, progress: float, warm_up: int) -> float:
    """Linear warm-up over steps, then a half cosine over progress in [0, 1], down to a hundredth."""
    cosine = 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(max(progress, 0.0), 1.0)))
    return min(1.0, (step + 1) / max(warm_up, 1)) * cosine
