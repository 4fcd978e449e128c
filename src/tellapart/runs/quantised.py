"""Weights in eight bits: matrices as whole numbers from -127 to 127, with one scale per row.

    w[i, ...] = scale[i] * q[i, ...],    scale[i] = max |w[i, ...]| / 127

A file holds `NAME` (int8) and `NAME@scale` (float32, one per row). Vectors, scalars and whole numbers stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from tellapart.core.errors import InputError

SCALE = "@scale"
LARGEST = 127


def quantise(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Matrices of float weights as int8 rows with scales; everything else unchanged.

    >>> stored = quantise({"w": torch.tensor([[1.0, -0.5], [0.0, 0.0]])})
    >>> stored["w"].tolist(), stored["w@scale"].shape
    ([[127, -64], [0, 0]], torch.Size([2]))
    """
    stored: dict[str, Tensor] = {}
    for name, value in weights.items():
        if not value.is_floating_point() or value.ndim < 2:
            stored[name] = value.contiguous()
            continue
        if not bool(torch.isfinite(value).all()):
            raise InputError(f"The weights '{name}' have values that are not finite, so they cannot be stored.")
        rows = value.float().flatten(1)  # [n, m]
        scale = rows.abs().amax(1) / LARGEST if rows.shape[1] else rows.new_zeros(len(rows))
        levels = (rows / torch.where(scale > 0, scale, 1.0).unsqueeze(1)).round().clamp(-LARGEST, LARGEST)
        stored[name] = levels.to(torch.int8).view(value.shape)
        stored[name + SCALE] = scale
    return stored


def restore(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights that `quantise` gave, in float32; others unchanged."""
    weights: dict[str, Tensor] = {}
    for name, value in stored.items():
        if name.endswith(SCALE):
            continue
        scale = stored.get(name + SCALE)
        weights[name] = value if scale is None else value.float() * scale.view(-1, *(1,) * (value.ndim - 1))
    return weights
