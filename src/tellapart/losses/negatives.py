"""Which sentences and images contradict a pair: the one place that decides what a negative is.

A pair is (owner[j], j). Its negative sentences describe another image; its negative images are all
others. Two sentences of one image are never each other's negatives, however the batch was drawn.
"""

from __future__ import annotations

import torch
from torch import Tensor

REDUCTIONS = ("mean", "sum")


def positives(scores: Tensor, owner: Tensor) -> Tensor:
    """The score of each pair [C]."""
    return scores[owner, torch.arange(len(owner), device=scores.device)]


def same_image(owner: Tensor) -> Tensor:
    """[C, C]: do sentences j and k describe the same image?"""
    return owner.unsqueeze(1) == owner.unsqueeze(0)


def own_image(scores: Tensor, owner: Tensor) -> Tensor:
    """[C, I]: is image i the one that sentence j describes?"""
    return owner.unsqueeze(1) == torch.arange(scores.shape[0], device=scores.device).unsqueeze(0)


def caption_negatives(scores: Tensor, owner: Tensor) -> tuple[Tensor, Tensor]:
    """For each pair, its image's score with every sentence, and which of them are negatives, both [C,
    C]."""
    return scores[owner], ~same_image(owner)


def image_negatives(scores: Tensor, owner: Tensor) -> tuple[Tensor, Tensor]:
    """For each pair, its sentence's score with every image, and which of them are negatives, both [C,
    I]."""
    return scores.t(), ~own_image(scores, owner)


def reduce(values: Tensor, reduction: str) -> Tensor:
    """Sum, or mean over pairs; an empty batch costs nothing and passes a zero gradient."""
    total = values.sum()
    return total if reduction == "sum" else total / max(len(values), 1)


def check_temperature(temperature: float) -> float:
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, not {temperature:g}")
    return temperature


def check_reduction(reduction: str) -> str:
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction must be one of {', '.join(REDUCTIONS)}, not '{reduction}'")
    return reduction
