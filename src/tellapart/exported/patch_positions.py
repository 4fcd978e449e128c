"""Positions of patches of images of any shape (SigLIP 2), computed by products alone, which a graph can hold.

transformers resizes the table of positions once per image, in Python. Bilinear interpolation with antialiasing weighs
the rows and columns of the table by triangles, so it is two matrices, and both follow from the shape of the image.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor


def resized_positions(table: Tensor, shapes: Tensor, max_length: int) -> Tensor:
    """A table [H, W, E] resized to the shapes [I, 2], one position per patch [I, N, E]; N is `max_length`.

    Patches after the last of an image get some position: they are masked. For images that are one patch wide, torch's
    interpolation repeats the first row; this one does not.
    """
    patches = torch.arange(max_length, device=table.device)  # [N]
    heights, widths = shapes[:, :1], shapes[:, 1:]  # [I, 1]
    row, column = torch.div(patches, widths, rounding_mode="floor"), torch.remainder(patches, widths)  # [I, N]
    down = _weights(torch.minimum(row, heights - 1), heights, table.shape[0])  # [I, N, H]
    across = _weights(column, widths, table.shape[1])  # [I, N, W]
    both = down.unsqueeze(3) * across.unsqueeze(2)  # [I, N, H, W]
    return (both.flatten(2) @ table.flatten(0, 1).float()).to(table.dtype)


def _weights(places: Tensor, sizes: Tensor, before: int) -> Tensor:
    """Weights [I, N, B] of the B old places in each new place [I, N] of sides that become `sizes` [I, 1] long."""
    scale = sizes.float().reciprocal() * before  # [I, 1]
    centre = (places.float() + 0.5) * scale
    middles = torch.arange(before, dtype=torch.float32, device=places.device) + 0.5  # [B]
    distance = (middles - centre.unsqueeze(2)).abs()
    weights = (1 - distance / scale.clamp(min=1).unsqueeze(2)).clamp(min=0)
    return weights / weights.sum(2, keepdim=True)


@contextmanager
def traceable_positions(vision: Any) -> Iterator[None]:
    """While the block runs, a vision tower that resizes positions does it by products."""
    embeddings: Any = getattr(vision, "embeddings", None)
    if not hasattr(embeddings, "resize_positional_embeddings"):
        yield
        return
    embeddings.resize_positional_embeddings = resized_positions
    try:
        yield
    finally:
        del embeddings.resize_positional_embeddings
