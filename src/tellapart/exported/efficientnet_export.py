"""The graphs of an EfficientNet-Lite backbone: FILE.onnx in float32 and FILE-int8.onnx, beside FILE.safetensors."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.exported.backbone_graph import Block, FloatLayers, Int8Layers, Layers, Unit, backbone_graph
from tellapart.exported.calibration import ChannelMeans, Watched, run_all, watch_inputs, watch_outputs
from tellapart.exported.graph import Graph, StoredWeights
from tellapart.exported.running import graph_results
from tellapart.features.backbones import Backbone
from tellapart.features.efficientnet import ConvolutionUnit, EfficientNetLite, InvertedResidual
from tellapart.runs.graph_names import graph_path

EXACT = ((), ("stem", "blocks.0."), ("stem", "blocks.0.", "blocks.1."))
"""Units that may stay in float32, fastest first: each block in 8 bits saves a tenth of the time."""
LARGEST_ERROR = 0.01
"""Of cells, as a share of their squares, on images that took no part in the calibration. An error of 0.012 cost 0.1% of
the CIDEr of 2,000 images, one of 0.007 less than could be measured."""


@torch.no_grad()
def export_backbone(backbone: Backbone, weights: Path, pixels: Iterable[Tensor]) -> list[Path]:
    """Write both graphs of a frozen backbone whose weights are in the file `weights`.

    pixels: batches [I, 3, S, S] of uint8 to calibrate int8 on.
    """
    network = backbone.network
    if not isinstance(network, EfficientNetLite):
        raise InputError(f"Only EfficientNet-Lite and PP-LCNetV2 can be exported, not {backbone.name}.")
    seen, unseen = halves(list(pixels))
    watched, means = Watched(), ChannelMeans()
    modules = dict(network.named_modules())
    stops = (
        watch_outputs(watched, {name: module for name, module in modules.items() if _is_watched(module)}),
        watch_inputs(means, {name: module for name, module in modules.items() if _is_unit(module)}),
    )
    run_all(backbone, seen)
    for stop in stops:
        stop()
    size, path = backbone.preprocessing.size, graph_path(weights, "float32")
    written = [_save(network, size, FloatLayers(), Graph("backbone", StoredWeights(weights)), path)]
    right = [backbone.map(batch).flatten(2).transpose(1, 2).numpy() for batch in unseen]  # [I, R, D]
    for exact in EXACT:
        int8 = Int8Layers(_merged_weights(network), watched.ranges(), exact, means.means())
        path = _save(network, size, int8, Graph("backbone"), graph_path(weights, "int8"))
        if cell_error(path, unseen, right) <= LARGEST_ERROR:
            break
    return [*written, path]


def halves(batches: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Batches to calibrate on, and others to measure the error on; one alone serves for both.

    >>> [[len(part) for part in halves([torch.zeros(1)] * count)] for count in (1, 2, 3)]
    [[1, 1], [1, 1], [2, 1]]
    """
    middle = -(-len(batches) // 2)
    return batches[:middle], batches[middle:] or batches


def cell_error(graph: Path, pixels: Iterable[Tensor], right: list[np.ndarray]) -> float:
    """Squared error of a graph's cells of pixels [I, 3, S, S] as a share of the squares of the right ones [I, R, D]."""
    given = [{"pixels": np.ascontiguousarray(batch.permute(0, 2, 3, 1).numpy())} for batch in pixels]
    found = graph_results(graph, given, "cells")
    error = sum(float(((one - other) ** 2).sum()) for one, other in zip(found, right))
    return error / sum(float((one**2).sum()) for one in right)


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
