"""Linear layers of a graph, in float32 or with int8 products.

Weights are stored as rows of int8 with a scale each (`runs.quantised`), as float16, or as float32. In float32 they are
restored when the graph is opened. With int8 products the input is rounded to 256 levels, whose range `calibration`
found; a range is fixed, so that an image's result does not depend on the other images of its batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from tellapart.exported.graph import CONTRIB, Graph
from tellapart.exported.ranges import Range

SCALE = "@scale"
FLOAT = 1
"""ONNX's number for float32."""


class Linears(Protocol):
    """How a graph computes x W^T + b."""

    def linear(self, graph: Graph, value: str, weight: str, bias: str) -> str:
        """Rows [..., K] -> [..., N], for weights [N, K] of this name."""
        ...


class FloatLinears:
    """Products in float32."""

    def linear(self, graph: Graph, value: str, weight: str, bias: str) -> str:
        matrix = graph.node("Transpose", [restored(graph, weight)], perm=[1, 0])
        return graph.node("Add", [graph.node("MatMul", [value, matrix]), graph.weight(bias)])


class Int8Linears:
    """Products of 8 bits, for layers that are stored in int8 and have a range; the others in float32."""

    def __init__(self, ranges: Mapping[str, Range]) -> None:
        self.ranges = ranges
        self.inputs: dict[tuple[str, str], str] = {}
        """Rounded values, by value and range: several layers may read one."""

    def linear(self, graph: Graph, value: str, weight: str, bias: str) -> str:
        layer = weight.removesuffix(".weight")
        if layer not in self.ranges or weight + SCALE not in stored(graph):
            return FloatLinears().linear(graph, value, weight, bias)
        scale, zero = self.ranges[layer].levels()
        levels = [graph.constant(scale), graph.constant(zero, np.uint8)]
        key = value, f"{scale} {zero}"
        if key not in self.inputs:
            self.inputs[key] = graph.node("QuantizeLinear", [value, *levels])
        matrix = graph.node("Transpose", [graph.weight(weight)], perm=[1, 0])
        none = graph.constant(0, np.int8)
        parts = [self.inputs[key], matrix, levels[0], graph.weight(weight + SCALE), levels[1], none, graph.weight(bias)]
        return graph.node("MatMulIntegerToFloat", parts, domain=CONTRIB)


def stored(graph: Graph) -> Mapping[str, object]:
    """The names in the weights' file."""
    assert graph.weights is not None
    return graph.weights.header


def restored(graph: Graph, weight: str) -> str:
    """Weights [N, ...] in float32."""
    value = graph.node("Cast", [graph.weight(weight)], to=FLOAT)
    if weight + SCALE not in stored(graph):
        return value
    column = graph.node("Unsqueeze", [graph.weight(weight + SCALE), graph.constant(np.asarray([1], np.int64))])
    return graph.node("Mul", [value, column])


def embedded(graph: Graph, table: str, rows: str) -> str:
    """Rows [...] of a stored table -> vectors [..., H] in float32, without restoring the whole table."""
    value = graph.node("Cast", [graph.node("Gather", [graph.weight(table), rows], axis=0)], to=FLOAT)
    if table + SCALE not in stored(graph):
        return value
    scale = graph.node("Gather", [graph.weight(table + SCALE), rows], axis=0)
    return graph.node("Mul", [value, graph.node("Unsqueeze", [scale, graph.constant(np.asarray([-1], np.int64))])])
