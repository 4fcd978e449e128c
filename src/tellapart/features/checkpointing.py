"""Activations that are computed again in the backward pass instead of being kept (Chen et al. 2016)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from tellapart.core.errors import InputError
from tellapart.features.backbones import Backbone
from tellapart.features.efficientnet import EfficientNetLite
from tellapart.features.pp_lcnet import PPLCNetV2
from tellapart.features.token_maps import TimmFeatures, TokensToMap


class Checkpointed(nn.Sequential):
    """Blocks of which only the inputs are kept; a second run leaves the statistics of batch norms alone."""

    def forward(self, values: Tensor) -> Tensor:
        """The output of the last block."""
        for block in self:
            if torch.is_grad_enabled():
                values = checkpoint(block, values, use_reentrant=False, context_fn=partial(_contexts, block))
            else:
                values = block(values)
        return values


def enable_checkpointing(backbone: Backbone) -> None:
    """Let a backbone compute its activations again in the backward pass."""
    network = backbone.network
    if isinstance(network, EfficientNetLite | PPLCNetV2):
        network.blocks = Checkpointed(*network.blocks)  # the same names of weights
    elif isinstance(network, TokensToMap) and hasattr(network.model, "gradient_checkpointing_enable"):
        network.model.gradient_checkpointing_enable()  # type: ignore[operator]
    elif isinstance(network, TimmFeatures):
        network.model.set_grad_checkpointing()
    else:
        raise InputError(f"The backbone {backbone.name} cannot be checkpointed; set vision.checkpointing=false.")


def _contexts(block: nn.Module) -> tuple[AbstractContextManager[object], AbstractContextManager[object]]:
    """Of the first run of a block, and of its second."""
    return nullcontext(), _without_statistics(block)


@contextmanager
def _without_statistics(block: nn.Module) -> Iterator[None]:
    norms = [module for module in block.modules() if isinstance(module, _BatchNorm)]
    before = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
    try:
        yield
    finally:
        for norm, momentum in zip(norms, before):
            norm.momentum = momentum
