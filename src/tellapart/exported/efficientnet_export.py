"""The graphs of an EfficientNet-Lite backbone: FILE.onnx in float32 and FILE-int8.onnx, beside FILE.safetensors."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.exported.backbone_graph import Block, FloatLayers, Int8Layers, Layers, Unit, backbone_graph
from tellapart.exported.calibration import Watched, run_all, watch_outputs
from tellapart.exported.graph import Graph, StoredWeights
from tellapart.features.backbones import Backbone
from tellapart.features.efficientnet import ConvolutionUnit, EfficientNetLite, InvertedResidual
from tellapart.runs.graph_names import graph_path

EXACT = ("stem", "blocks.0.", "blocks.1.")
"""Units that stay in float32: in 8 bits they alone turn cells by 0.017 of the cosine, and cost 15% less time."""


def export_backbone(backbone: Backbone, weights: Path, pixels: Iterable[Tensor]) -> list[Path]:
    """Write both graphs of a frozen backbone whose weights are in the file `weights`.

    pixels: batches [I, 3, S, S] of uint8 to calibrate int8 on.
    """
    network = backbone.network
    if not isinstance(network, EfficientNetLite):
        raise InputError(f"Only EfficientNet-Lite can be exported, not {backbone.name}.")
    watched = Watched()
    stop = watch_outputs(watched, {name: module for name, module in network.named_modules() if _is_watched(module)})
    run_all(backbone, pixels)
    stop()
    int8 = Int8Layers(_merged_weights(network), watched.ranges(), EXACT)
    size = backbone.preprocessing.size
    return [
        _save(network, size, FloatLayers(), Graph("backbone", StoredWeights(weights)), graph_path(weights, "float32")),
        _save(network, size, int8, Graph("backbone"), graph_path(weights, "int8")),
    ]


def _save(network: EfficientNetLite, size: int, layers: Layers, graph: Graph, path: Path) -> Path:
    units = {name: _unit(name, module) for name, module in network.named_modules() if _is_unit(module)}
    blocks = tuple(
        Block(f"blocks.{number}", tuple(u for name, u in units.items() if name.startswith(f"blocks.{number}.")),
              bool(block.residual))
        for number, block in enumerate(network.blocks)
    )  # fmt: skip
    backbone_graph(graph, layers, units["stem"], blocks, units["head"], size)
    graph.save(path)
    return path


def _unit(name: str, module: nn.Module) -> Unit:
    assert isinstance(module, ConvolutionUnit)
    activated = not isinstance(module.activation, nn.Identity)
    return Unit(name, module.kernel, module.stride, module.convolution.groups, activated)


def _is_unit(module: nn.Module) -> bool:
    return isinstance(module, ConvolutionUnit)


def _is_watched(module: nn.Module) -> bool:
    return isinstance(module, ConvolutionUnit | InvertedResidual)


def _merged_weights(network: EfficientNetLite) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    merged = {}
    for name, module in network.named_modules():
        if isinstance(module, ConvolutionUnit):
            if module.convolution.bias is None:
                raise InputError("A backbone is exported frozen: its batch norms must be merged.")
            merged[name] = _array(module.convolution.weight), _array(module.convolution.bias)
    return merged


def _array(value: Tensor) -> np.ndarray:
    return np.asarray(value.detach().to(torch.float32).cpu().contiguous().numpy())
