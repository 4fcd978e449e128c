"""Score matrices [pictures, sentences]: cosine of global vectors. Cross-attention of local ones is in
cross_attention."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def cosine(images: Tensor, texts: Tensor) -> Tensor:
    """Cosine of every picture vector [I, E] with every sentence vector [C, E] (ConVSE paper, Eq. 1): [I,
    C]."""
    return unit(images) @ unit(texts).t()


def unit(vectors: Tensor, eps: float = 1e-12) -> Tensor:
    """Vectors of length one along the last dimension; a zero vector stays zero."""
    return F.normalize(vectors, dim=-1, eps=eps)
