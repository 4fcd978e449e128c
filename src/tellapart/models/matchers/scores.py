"""Score matrices [I, C]: the cosine of global vectors, and the cross attention of local ones."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from tellapart.models.layers.cross_attention import Attention, attention_weights, cross_attention

__all__ = ["Attention", "attention_weights", "cosine", "cross_attention", "unit"]


def cosine(images: Tensor, texts: Tensor) -> Tensor:
    """Cosine of every image [I, E] with every caption [C, E] (ConVSE paper, Eq. 1): [I, C]."""
    return unit(images) @ unit(texts).t()


def unit(vectors: Tensor, eps: float = 1e-12) -> Tensor:
    """Vectors of length one along the last dimension; a zero vector stays zero."""
    return F.normalize(vectors, dim=-1, eps=eps)
