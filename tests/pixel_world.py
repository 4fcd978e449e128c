"""A tiny pack with image files, and a tiny backbone that learns: end-to-end training in a moment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from tellapart.data.pack import Pack
from tellapart.features import backbones
from tellapart.features.backbones import Backbone
from tellapart.images.preprocessing import Preprocessing
from tiny_pack import COLOURS

PAINT = {"red": (220, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 220), "white": (240, 240, 240)}
TINY, SIDE, WIDTH = "tiny", 16, 12


class TinyNetwork(nn.Module):
    """[I, 3, 16, 16] -> [I, 12, 2, 2]."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(3, WIDTH, 8, stride=8), nn.BatchNorm2d(WIDTH)

    def forward(self, pixels: Tensor) -> Tensor:
        return torch.relu(self.norm(self.convolution(pixels)))


def load_tiny(trainable: bool, pretrained: bool) -> Backbone:
    """The tiny backbone; pretrained weights are always the same."""
    state = torch.get_rng_state()
    torch.manual_seed(7)
    network = TinyNetwork()
    torch.set_rng_state(state)
    return Backbone(TINY, network, WIDTH, Preprocessing(SIDE, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)))


def add_tiny_backbone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the tiny backbone known by its name."""
    monkeypatch.setitem(backbones.BACKBONES, TINY, load_tiny)


def draw_images(pack: Pack, size: tuple[int, int] = (40, 32)) -> None:
    """Write the image files of a tiny pack: each in the colour that its captions name, darker on the right."""
    random = np.random.default_rng(0)
    for row, image in enumerate(pack.images):
        height, width = size[1], size[0] + row % 3
        pixels = np.full((height, width, 3), PAINT[COLOURS[row % 4]], np.float64)
        pixels[:, width // 2 :] *= 0.4
        pixels += random.normal(0, 3, pixels.shape)
        path = Path(pack.folder) / image.file
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(path)
