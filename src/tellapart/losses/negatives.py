"""Which captions and images are the negatives of a pair; every ranking loss uses this definition.

Scores are [I, C] and `owner` [C] gives the image of each caption. A pair is (owner[j], j). Its negative captions
describe another image; its negative images are all others. Two captions of one image are never each other's negatives.
"""

from __future__ import annotations

import torch
from torch import Tensor

REDUCTIONS = ("mean", "sum")


def positives(scores: Tensor, owner: Tensor) -> Tensor:
    """The score of each pair [C]."""
    return scores[owner, torch.arange(len(owner), device=scores.device)]


def same_image(owner: Tensor) -> Tensor:
    """[C, C]: do captions j and k describe the same image?"""
    return owner.unsqueeze(1) == owner.unsqueeze(0)


def own_image(scores: Tensor, owner: Tensor) -> Tensor:
    """[C, I]: is image i the one that caption j describes?"""
    return owner.unsqueeze(1) == torch.arange(scores.shape[0], device=scores.device).unsqueeze(0)


def caption_negatives(scores: Tensor, owner: Tensor) -> tuple[Tensor, Tensor]:
    """For each pair, its image's score with every caption, and which of them are negatives, both [C, C]."""
    return scores[owner], ~same_image(owner)


def image_negatives(scores: Tensor, owner: Tensor) -> tuple[Tensor, Tensor]:
    """For each pair, its caption's score with every image, and which of them are negatives, both [C, I]."""
    return scores.t(), ~own_image(scores, owner)


def reduce(values: Tensor, reduction: str) -> Tensor:
    """Sum, or mean over pairs; 0 with a zero gradient for an empty batch."""
    total = values.sum()
    return total if reduction == "sum" else total / max(len(values), 1)


def check_temperature(temperature: float) -> float:
    """The temperature; an error if it is not positive."""
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, not {temperature:g}")
    return temperature


def check_reduction(reduction: str) -> str:
    """The reduction; an error if it is unknown."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction must be one of {', '.join(REDUCTIONS)}, not '{reduction}'")
    return reduction
