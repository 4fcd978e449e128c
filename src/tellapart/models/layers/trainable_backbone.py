"""A backbone inside a matcher, for stages that train it too: pixels in, feature rows out."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from tellapart.core.errors import InputError
from tellapart.core.types import Images
from tellapart.models.inputs import ModelInputs


class TrainableBackbone(nn.Module):
    """Turns `images.pixels` into feature rows [I, H W, D] with a backbone that can be trained.

    Args:
        name: any backbone of `features/backbones.py`.
        freeze_norms: keep batch norms on their running statistics, which reproduces VSE++'s results. False: always
            train them, as in ConVSE's code. (VSE++'s code trains them for 500 steps of each epoch only.)
    """

    def __init__(self, name: str, inputs: ModelInputs, freeze_norms: bool = True) -> None:
        super().__init__()
        from tellapart.features.backbones import load_backbone

        self.network = load_backbone(name, trainable=True, pretrained=inputs.load_pretrained)
        self.freeze_norms = freeze_norms
        self.width = self.network.width

    def train(self, mode: bool = True) -> TrainableBackbone:
        """Set the mode; frozen batch norms stay in eval mode."""
        super().train(mode)
        if self.freeze_norms:
            for module in self.modules():
                if isinstance(module, _BatchNorm):
                    module.eval()
        return self

    def forward(self, images: Images) -> Images:
        """The images with feature rows [I, H W, D]; rows that a copy of this backbone made pass through."""
        if images.pixels is None and images.features.shape[-1] == self.width:
            return images
        if images.pixels is None:
            raise InputError(
                "This matcher reads pixels, but the batches have none; set the stage's sampling.pixels to "
                f"{self.network.preprocessing.size}."
            )
        grid = self.network.map(images.pixels)  # [I, D, H, W]
        rows = grid.flatten(2).transpose(1, 2)  # [I, H W, D]
        mask = torch.ones(rows.shape[:2], dtype=torch.bool, device=rows.device)
        return Images(rows, mask, None, images.pixels, images.columns)


def trainable_backbone(name: str, inputs: ModelInputs, freeze_norms: bool) -> tuple[nn.Module, int]:
    """The backbone called `name` and its width; for an empty name, the identity and the width of the features."""
    if not name:
        return nn.Identity(), inputs.feature_width
    backbone = TrainableBackbone(name, inputs, freeze_norms)
    return backbone, backbone.width
