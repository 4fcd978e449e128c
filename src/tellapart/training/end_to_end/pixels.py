"""Images as bytes on the device: decoded once, kept as uint8, cropped and flipped in batches."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tellapart.images.crops import Crops, resample

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

    def cropped(self, rows: Tensor, crops: Crops, size: int) -> Tensor:
        """Crops of the images at rows [n], normalised, as the backbone reads them: [n, 3, size, size], channels
        last."""
        return (resample(self.pixels[rows], crops, size) - CENTRE) / SPREAD

    def whole(self, rows: Tensor, size: int) -> Tensor:
        """Whole images at rows [n], normalised."""
        return self.cropped(rows, Crops.whole(len(rows), self.pixels.device), size)
