"""Images as bytes on the device: decoded once, kept as uint8, cropped and flipped in batches."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tellapart.images.crops import Crops, resample
from tellapart.images.preprocessing import Preprocessing

UPLOAD = 512
LITE = Preprocessing(224, (127 / 255,) * 3, (128 / 255,) * 3)
"""How EfficientNet-Lite reads pixels."""


class PixelStore:
    """All images as uint8 [I, S, S, 3] on one device; rows are filled as images arrive."""

    def __init__(self, images: int, size: int, device: torch.device | str, preprocessing: Preprocessing = LITE) -> None:
        self.pixels = torch.zeros(images, size, size, 3, dtype=torch.uint8, device=device)
        self.present = np.zeros(images, dtype=bool)
        self.read_as(preprocessing)

    def read_as(self, preprocessing: Preprocessing) -> None:
        """From now on, normalise as this preprocessing says; its size does not matter."""
        self.centre = _channels(preprocessing.mean, self.pixels.device)
        self.spread = _channels(preprocessing.std, self.pixels.device)

    def fill(self, rows: np.ndarray, pixels: np.ndarray) -> None:
        """Put images [n, S, S, 3] at rows [n]."""
        for first in range(0, len(rows), UPLOAD):
            part = torch.from_numpy(np.array(pixels[first : first + UPLOAD]))
            index = torch.from_numpy(np.asarray(rows[first : first + UPLOAD], dtype=np.int64))
            self.pixels[index.to(self.pixels.device)] = part.to(self.pixels.device)
        self.present[rows] = True

    def cropped(self, rows: Tensor, crops: Crops, size: int) -> Tensor:
        """Crops of the images at rows [n], normalised, as the backbone reads them: [n, 3, size, size], channels
        last."""
        return (resample(self.pixels[rows], crops, size) - self.centre) / self.spread

    def whole(self, rows: Tensor, size: int) -> Tensor:
        """Whole images at rows [n], normalised."""
        return self.cropped(rows, Crops.whole(len(rows), self.pixels.device), size)


def _channels(shares: tuple[float, float, float], device: torch.device | str) -> Tensor:
    """One number for each colour [1, 3, 1, 1], from shares of the largest byte."""
    return torch.tensor([share * 255 for share in shares], device=device).view(1, 3, 1, 1)
