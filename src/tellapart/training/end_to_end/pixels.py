"""Images as bytes on the device: decoded once, kept as uint8, cropped and flipped in batches."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

CENTRE, SPREAD = 127.0, 128.0  # of EfficientNet-Lite's inputs
UPLOAD = 512


class PixelStore:
    """All images as uint8 [I, S, S, 3] on one device; rows are filled as images arrive."""

    def __init__(self, images: int, size: int, device: torch.device | str) -> None:
        self.pixels = torch.zeros(images, size, size, 3, dtype=torch.uint8, device=device)
        self.present = np.zeros(images, dtype=bool)

    def fill(self, rows: np.ndarray, pixels: np.ndarray) -> None:
        """Put images [n, S, S, 3] at rows [n]."""
        for first in range(0, len(rows), UPLOAD):
            part = torch.from_numpy(np.array(pixels[first : first + UPLOAD]))
            index = torch.from_numpy(np.asarray(rows[first : first + UPLOAD], dtype=np.int64))
            self.pixels[index.to(self.pixels.device)] = part.to(self.pixels.device)
        self.present[rows] = True

    def whole(self, rows: Tensor, size: int) -> Tensor:
        """Whole images at rows [n], normalised, as the backbone reads them: [n, 3, size, size], channels last."""
        return resample(self.pixels[rows], Crops.whole(len(rows), self.pixels.device), size)


@dataclass(frozen=True)
class Crops:
    """Where each crop lies: centre and half-extent in [-1, 1] coordinates [n, 2] (x, y), and which are flipped [n]."""

    centre: Tensor
    extent: Tensor
    flipped: Tensor

    @classmethod
    def whole(cls, count: int, device: torch.device | str) -> Crops:
        centre = torch.zeros(count, 2, device=device)
        return cls(centre, torch.ones_like(centre), torch.zeros(count, dtype=torch.bool, device=device))

    @classmethod
    def random(
        cls, count: int, device: torch.device | str, least_area: float = 0.6, aspect: float = 1.2, flip: float = 0.5
    ) -> Crops:
        """Area uniform in [least_area, 1], width over height within a factor `aspect`, place uniform."""
        area = torch.empty(count, device=device).uniform_(least_area, 1.0)
        ratio = torch.empty(count, device=device).uniform_(-math.log(aspect), math.log(aspect)).exp()
        extent = torch.stack([(area * ratio).sqrt(), (area / ratio).sqrt()], 1).clamp(max=1.0)  # [n, 2]
        centre = (torch.rand(count, 2, device=device) * 2 - 1) * (1 - extent)
        return cls(centre, extent, torch.rand(count, device=device) < flip)


def resample(pixels: Tensor, crops: Crops, size: int) -> Tensor:
    """Crops of uint8 images [n, S, S, 3], bilinear, normalised: [n, 3, size, size], channels last."""
    values = (pixels.permute(0, 3, 1, 2).float() - CENTRE) / SPREAD
    across = torch.where(crops.flipped, -crops.extent[:, 0], crops.extent[:, 0])
    # Written out: `affine_grid` multiplies matrices, which loses digits where TensorFloat-32 is on.
    base = (torch.arange(size, device=pixels.device) * 2 + 1) / size - 1  # centres of the pixels taken
    x = crops.centre[:, :1] + across.unsqueeze(1) * base  # [n, size]
    y = crops.centre[:, 1:] + crops.extent[:, 1:] * base
    grid = torch.stack([x[:, None].expand(-1, size, -1), y[:, :, None].expand(-1, -1, size)], -1)  # [n, size, size, 2]
    taken = functional.grid_sample(values, grid, mode="bilinear", padding_mode="border", align_corners=False)
    return taken.contiguous(memory_format=torch.channels_last)
