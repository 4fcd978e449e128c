"""A backbone inside a model that learns with it: pixels in, feature rows out, each batch of images once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from tellapart.core.recording import recording
from tellapart.core.types import Images

_SEEN: ContextVar[dict[tuple[int, ...], tuple[Tensor, Images]] | None] = ContextVar("seen", default=None)


@contextmanager
def seen_once() -> Iterator[None]:
    """While the block runs, a backbone computes the rows of the same pixels once, however often a model asks.

    An objective may read a batch several times (matched and mismatched captions). The block must end before the
    backward pass frees what the rows were computed from.
    """
    token = _SEEN.set({})
    try:
        yield
    finally:
        _SEEN.reset(token)


class PixelBackbone(nn.Module):
    """Turns `images.pixels` into feature rows: [I, 1, D] if pooled, else [I, H W, D] with the boxes of the cells.

    Args:
        name: any backbone of `features/backbones.py`; start: a tuned one of the same network to take weights from.
        pretrained: load weights; False where a run's own weights follow.
        pixels: side of the input; 0: the backbone's own.
        frozen_norms: keep batch norms on their running statistics.
        half: compute in bfloat16 on a GPU.
        checkpointing: compute activations again in the backward pass.
    """

    def __init__(
        self,
        name: str,
        start: str = "",
        pretrained: bool = True,
        *,
        pooled: bool = False,
        pixels: int = 0,
        frozen_norms: bool = True,
        half: bool = True,
        checkpointing: bool = False,
    ) -> None:
        super().__init__()
        from tellapart.features.backbones import load_backbone, load_tuned_weights
        from tellapart.features.checkpointing import enable_checkpointing

        self.network = load_backbone(name, trainable=True, pretrained=pretrained and not start)
        if start and pretrained:
            load_tuned_weights(self.network, start)
        own = self.network.preprocessing
        self.network.preprocessing = replace(own, size=pixels or own.size)
        self.width, self.pooled, self.frozen_norms = self.network.width, pooled, frozen_norms
        self.in_half = half
        if checkpointing:
            enable_checkpointing(self.network)
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def rows(self) -> int:
        """Feature rows per image."""
        if self.pooled:
            return 1
        height, width = self.network.map_size()
        return height * width

    def compile_network(self) -> None:
        """Compile the network for training; evaluation, whose batches vary in size, runs as it is."""
        self.network.network.compile(dynamic=False)

    def train(self, mode: bool = True) -> PixelBackbone:
        """Set the mode; frozen batch norms stay in eval mode."""
        super().train(mode)
        if self.frozen_norms:
            for module in self.modules():
                if isinstance(module, _BatchNorm):
                    module.eval()
        return self

    def forward(self, images: Images) -> Images:
        """The images with feature rows; those without pixels have theirs already."""
        if images.pixels is None:
            return images
        seen = _SEEN.get()
        if seen is None:
            return self._see(images, images.pixels)
        key = (id(self), id(images.pixels), int(torch.is_grad_enabled()), int(self.training))
        if key not in seen:
            seen[key] = (images.pixels, self._see(images, images.pixels))  # the pixels keep their id while it counts
        return seen[key][1]

    def _see(self, images: Images, pixels: Tensor) -> Images:
        kind = pixels.device.type
        half = torch.is_autocast_enabled(kind) or (self.in_half and kind == "cuda")
        with torch.autocast(kind, torch.bfloat16, enabled=half, cache_enabled=not recording()):
            values = self.network.normalise(pixels).contiguous(memory_format=torch.channels_last)
            # `forward` in eval mode: a call would use the compiled network.
            found = self.network.network(values) if self.training else self.network.network.forward(values)
            grid, pooled = found if isinstance(found, tuple) else (found, None)
            if self.pooled:
                rows = (grid.float().mean((2, 3)) if pooled is None else pooled.float()).unsqueeze(1)  # [I, 1, D]
            else:
                rows = grid.flatten(2).transpose(1, 2).float()  # [I, H W, D]
        mask = torch.ones(rows.shape[:2], dtype=torch.bool, device=rows.device)
        boxes = None if self.pooled else cell_boxes(grid).expand(len(rows), -1, -1)
        return Images(rows, mask, boxes, None, images.columns)


def cell_boxes(grid: Tensor) -> Tensor:
    """Boxes [1, H W, 4] of the cells of a map [I, D, H, W], x1 y1 x2 y2 in fractions of the image."""
    height, width = grid.shape[2:]
    y, x = torch.meshgrid(
        torch.arange(height, device=grid.device), torch.arange(width, device=grid.device), indexing="ij"
    )
    corners = torch.stack([x / width, y / height, (x + 1) / width, (y + 1) / height], -1)
    return corners.view(1, -1, 4)
