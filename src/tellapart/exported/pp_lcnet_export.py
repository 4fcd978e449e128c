"""The graph of a PP-LCNetV2 backbone: FILE.onnx beside FILE.safetensors, in float32.

The graph points to the stored weights (float16 or float32) and merges each batch norm when it is opened
(`features.folding`). There is no graph in int8, so nothing is calibrated.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from torch import nn

from tellapart.core.errors import InputError
from tellapart.exported.backbone_graph import Unit, convolution
from tellapart.exported.graph import Graph, StoredWeights
from tellapart.exported.linear_layers import FLOAT
from tellapart.features.backbones import Backbone
from tellapart.features.pp_lcnet import PlainUnit, PPLCNetV2, SeparableBlock
from tellapart.images.preprocessing import Preprocessing
from tellapart.runs.graph_names import graph_path

NORM_EPSILON = 1e-5
"""That of torch's batch norm."""
FIRST = "stem.convolution.weight"


def export_pp_lcnet(backbone: Backbone, weights: Path) -> list[Path]:
    """Write the graph of a backbone whose weights are in the file `weights`; one in int8 is removed."""
    if not isinstance(backbone.network, PPLCNetV2):
        raise InputError(f"{backbone.name} is not a PP-LCNetV2.")
    path = graph_path(weights, "float32")
    pp_lcnet_graph(StoredWeights(weights), backbone.network, backbone.preprocessing).save(path)
    graph_path(weights, "int8").unlink(missing_ok=True)  # one of another network
    return [path]


def pp_lcnet_graph(weights: StoredWeights, network: PPLCNetV2, preprocessing: Preprocessing) -> Graph:
    """Pixels [I, S, S, 3] of uint8 -> cells [I, R, D] in rows, as `grid_rows` orders them."""
    graph, size = Graph("backbone", weights), preprocessing.size
    layers = _Layers(graph, _prefix(weights))
    pixels = graph.node("Transpose", [graph.input("pixels", "UINT8", ["images", size, size, 3])], perm=[0, 3, 1, 2])
    value = layers.unit(_normalised(graph, pixels, preprocessing), "stem", network.stem)
    side = math.ceil(size / network.stem.convolution.stride[0])
    for number, block in enumerate(network.blocks):
        assert isinstance(block, SeparableBlock)
        value = layers.block(value, f"blocks.{number}", block)
        side = math.ceil(side / block.depthwise.convolution.stride[0])
    rows = graph.node("Transpose", [value], perm=[0, 2, 3, 1])  # [I, H, W, D]
    cells = graph.node("Reshape", [rows, graph.constant(np.asarray([0, side * side, network.width], np.int64))])
    graph.output(cells, "cells", "FLOAT", ["images", side * side, network.width])
    return graph


class _Layers:
    """The parts of the network in float32, from weights whose names begin with `prefix`."""

    def __init__(self, graph: Graph, prefix: str) -> None:
        self.graph, self.prefix = graph, prefix

    def block(self, value: str, name: str, block: SeparableBlock) -> str:
        """Depthwise filter, gate, pointwise convolutions; the input is added if the block says so."""
        mixed = self.unit(value, f"{name}.depthwise", block.depthwise)
        if not isinstance(block.gate, nn.Identity):
            mixed = self.gate(mixed, f"{name}.gate")
        for number, unit in enumerate(block.mix):
            assert isinstance(unit, PlainUnit)
            mixed = self.unit(mixed, f"{name}.mix.{number}", unit)
        return self.graph.node("Add", [mixed, value]) if block.residual else mixed

    def unit(self, value: str, name: str, module: PlainUnit) -> str:
        """Convolution, batch norm if the file has one, ReLU."""
        kernel, stride = module.convolution.kernel_size[0], module.convolution.stride[0]
        unit = Unit(name, kernel, stride, module.convolution.groups, True)
        convolved = self.graph.node("Conv", [value, *self._merged(name)], **convolution(unit, [kernel // 2] * 4))
        return self.graph.node("Relu", [convolved])

    def gate(self, value: str, name: str) -> str:
        """Each channel times its gate."""
        graph = self.graph
        means = graph.node("GlobalAveragePool", [value])  # [I, C, 1, 1]
        narrow = graph.node("Relu", [graph.node("Conv", [means, *self._stored(f"{name}.reduce")])])
        gates = graph.node("Sigmoid", [graph.node("Conv", [narrow, *self._stored(f"{name}.expand")])])
        return graph.node("Mul", [value, gates])

    def _merged(self, name: str) -> tuple[str, str]:
        """Weight and bias of a unit, merged with its batch norm."""
        norm = f"{name}.norm"
        if f"{self.prefix}{norm}.weight" not in self._weights:
            return self._stored(f"{name}.convolution")
        graph = self.graph
        variance = graph.node("Add", [self._float(f"{norm}.running_var"), graph.constant(NORM_EPSILON)])
        scale = graph.node("Div", [self._float(f"{norm}.weight"), graph.node("Sqrt", [variance])])  # [outputs]
        column = graph.node("Reshape", [scale, graph.constant(np.asarray([-1, 1, 1, 1], np.int64))])
        weight = graph.node("Mul", [self._float(f"{name}.convolution.weight"), column])
        shift = graph.node("Mul", [self._float(f"{norm}.running_mean"), scale])
        return weight, graph.node("Sub", [self._float(f"{norm}.bias"), shift])

    def _stored(self, name: str) -> tuple[str, str]:
        return self._float(f"{name}.weight"), self._float(f"{name}.bias")

    def _float(self, name: str) -> str:
        return self.graph.node("Cast", [self.graph.weight(self.prefix + name)], to=FLOAT)

    @property
    def _weights(self) -> StoredWeights:
        assert self.graph.weights is not None
        return self.graph.weights


def _normalised(graph: Graph, pixels: str, preprocessing: Preprocessing) -> str:
    """(p / 255 - mean) / std of pixels [I, 3, S, S]."""
    mean, std = (
        np.asarray(values, np.float64).reshape(1, 3, 1, 1) for values in (preprocessing.mean, preprocessing.std)
    )
    centred = graph.node(
        "Sub", [graph.node("Cast", [pixels], to=FLOAT), graph.constant((255 * mean).astype(np.float32))]
    )
    return graph.node("Mul", [centred, graph.constant((1 / (255 * std)).astype(np.float32))])


def _prefix(weights: StoredWeights) -> str:
    """What the names of the network's weights begin with: a file may hold a whole model."""
    found = [name.removesuffix(FIRST) for name in weights.header if name.endswith(FIRST)]
    if len(found) != 1:
        raise InputError(f"{weights.path} does not hold the weights of a PP-LCNetV2.")
    return found[0]
