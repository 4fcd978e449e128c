"""Batch norms folded into convolutions, which makes a frozen backbone faster."""

from __future__ import annotations

import torch
from torch import nn

from tellapart.features.efficientnet import ConvolutionUnit
from tellapart.features.pp_lcnet import PlainUnit


def fold_norms(model: nn.Module) -> nn.Module:
    """Merge every batch norm into the convolution before it, in place; the result is for inference only.

    gamma (w x - mean) / sqrt(var + eps) + beta = (gamma w / sqrt(var + eps)) x + (beta - gamma mean / sqrt(var + eps))
    """
    for unit in [module for module in model.modules() if isinstance(module, ConvolutionUnit | PlainUnit)]:
        norm = unit.norm
        if not isinstance(norm, nn.BatchNorm2d) or norm.running_mean is None or norm.running_var is None:
            continue
        with torch.no_grad():
            scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)  # [outputs]
            unit.convolution.weight.mul_(scale[:, None, None, None])
            unit.convolution.bias = nn.Parameter(norm.bias - norm.running_mean * scale)
        unit.norm = nn.Identity()
    return model.eval().requires_grad_(False)
