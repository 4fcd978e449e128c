"""Crops of many square images at once, on the device that holds them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

CROP_NUMBERS = 5
"""Random numbers that a crop needs."""
ASPECT = 1.2
"""Largest ratio of width to height, or height to width, of a random crop."""


@dataclass(frozen=True)
class Crops:
    """Where each crop lies: centre and half-extent in [-1, 1] coordinates [n, 2] (x, y), and which are flipped [n]."""

    centre: Tensor
    extent: Tensor
    flipped: Tensor

    @classmethod
    def whole(cls, count: int, device: torch.device | str) -> Crops:
        """Whole images."""
        centre = torch.zeros(count, 2, device=device)
        return cls(centre, torch.ones_like(centre), torch.zeros(count, dtype=torch.bool, device=device))

    @classmethod
    def drawn(cls, numbers: Tensor, least_area: float, flip: bool = True, aspect: float = ASPECT) -> Crops:
        """Crops from five numbers in [0, 1) per image [n, 5]: area, ratio, place across, place down, flipped.

        Area uniform in [least_area, 1], width over height within a factor `aspect`, place uniform.
        """
        area = least_area + numbers[:, 0] * (1 - least_area)
        ratio = ((numbers[:, 1] * 2 - 1) * math.log(aspect)).exp()
        extent = torch.stack([(area * ratio).sqrt(), (area / ratio).sqrt()], 1).clamp(max=1.0)  # [n, 2]
        if least_area >= 1:
            extent = torch.ones_like(extent)
        centre = (numbers[:, 2:4] * 2 - 1) * (1 - extent)
        flipped = numbers[:, 4] < 0.5 if flip else torch.zeros_like(numbers[:, 4], dtype=torch.bool)
        return cls(centre, extent, flipped)

    @classmethod
    def random(cls, count: int, device: torch.device | str, least_area: float = 0.6) -> Crops:
        """`drawn` from random numbers of the device."""
        return cls.drawn(torch.rand(count, CROP_NUMBERS, device=device), least_area)


def resample(pixels: Tensor, crops: Crops, size: int) -> Tensor:
    """Crops of uint8 images [n, S, S, 3], bilinear: floats from 0 to 255 [n, 3, size, size], channels last."""
    across = torch.where(crops.flipped, -crops.extent[:, 0], crops.extent[:, 0])
    # Written out: `affine_grid` multiplies matrices, which loses digits where TensorFloat-32 is on.
    base = (torch.arange(size, device=pixels.device) * 2 + 1) / size - 1  # centres of the pixels taken
    x = crops.centre[:, :1] + across.unsqueeze(1) * base  # [n, size]
    y = crops.centre[:, 1:] + crops.extent[:, 1:] * base
    grid = torch.stack([x[:, None].expand(-1, size, -1), y[:, :, None].expand(-1, -1, size)], -1)  # [n, size, size, 2]
    values = pixels.permute(0, 3, 1, 2).float()
    taken = functional.grid_sample(values, grid, mode="bilinear", padding_mode="border", align_corners=False)
    return taken.contiguous(memory_format=torch.channels_last)


def crop_squares(squares: Tensor, size: int, crops: Crops | None) -> Tensor:
    """Images [n, 3, size, size] in 0 … 255, channels last, of uint8 squares [n, S, S, 3]; whole ones without crops."""
    if crops is None and squares.shape[1] == size:
        return squares.permute(0, 3, 1, 2)
    return resample(squares, Crops.whole(len(squares), squares.device) if crops is None else crops, size)
