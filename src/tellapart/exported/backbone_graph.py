"""EfficientNet-Lite as an ONNX graph, in float32 or in int8.

float32: the graph points to the float16 weights and merges each batch norm when it is opened (`fold_norms` in ONNX).
int8: weights per output channel, activations per layer with ranges found by `calibration`; the merged batch norm is in
the stored weights. Pixels are whole numbers already, so that the first layer reads them without any rounding:
(p - 127) / 128 is a number of 8 bits with scale 1 / 128 and zero point 127.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tellapart.exported.graph import CONTRIB, Graph
from tellapart.exported.ranges import Range

NORM_EPSILON = 1e-3
PIXEL_SCALE, PIXEL_ZERO = 1 / 128, 127
LARGEST_BIAS = 2**30
"""In units of the products; a channel whose weights are almost 0 gets a coarser scale instead."""


@dataclass(frozen=True)
class Unit:
    """One convolution with its batch norm."""

    name: str
    kernel: int
    stride: int
    groups: int
    activated: bool


@dataclass(frozen=True)
class Block:
    """An inverted residual: one to three units, whose input may be added to their output."""

    name: str
    units: tuple[Unit, ...]
    residual: bool


class Layers(Protocol):
    """How a graph computes units and sums, in one precision."""

    def start(self, graph: Graph, pixels: str) -> str:
        """Pixels [I, 3, S, S] as the first unit reads them."""
        ...

    def unit(self, graph: Graph, value: str, unit: Unit, pads: list[int]) -> str:
        """Convolution, batch norm, ReLU6."""
        ...

    def add(self, graph: Graph, one: str, other: str, block: Block) -> str:
        """The sum of a block's output and its input."""
        ...

    def end(self, graph: Graph, value: str) -> str:
        """The map in float32."""
        ...


def backbone_graph(graph: Graph, layers: Layers, stem: Unit, blocks: tuple[Block, ...], head: Unit, size: int) -> None:
    """Pixels [I, S, S, 3] of uint8 -> cells [I, R, D] in rows, as `grid_rows` orders them."""
    pixels = graph.input("pixels", "UINT8", ["images", size, size, 3])
    value = layers.start(graph, graph.node("Transpose", [pixels], perm=[0, 3, 1, 2]))
    value, side = layers.unit(graph, value, stem, same_padding(size, stem)), math.ceil(size / stem.stride)
    for block in blocks:
        before = value
        for unit in block.units:
            value, side = layers.unit(graph, value, unit, same_padding(side, unit)), math.ceil(side / unit.stride)
        if block.residual:
            value = layers.add(graph, value, before, block)
    value = layers.end(graph, layers.unit(graph, value, head, same_padding(side, head)))
    rows = graph.node("Transpose", [value], perm=[0, 2, 3, 1])  # [I, H, W, D]
    cells = graph.node("Reshape", [rows, graph.constant(np.asarray([0, side * side, -1], np.int64))])
    graph.output(cells, "cells", "FLOAT", ["images", side * side, "width"])


def same_padding(size: int, unit: Unit) -> list[int]:
    """TensorFlow's "same": top, left, bottom, right.

    >>> same_padding(260, Unit("stem", 3, 2, 1, True))
    [0, 0, 1, 1]
    """
    total = max((math.ceil(size / unit.stride) - 1) * unit.stride + unit.kernel - size, 0)
    return [total // 2, total // 2, total - total // 2, total - total // 2]


class FloatLayers:
    """float32, from the weights as they are stored."""

    def start(self, graph: Graph, pixels: str) -> str:
        centred = graph.node("Sub", [graph.node("Cast", [pixels], to=1), graph.constant(float(PIXEL_ZERO))])
        return graph.node("Mul", [centred, graph.constant(PIXEL_SCALE)])

    def unit(self, graph: Graph, value: str, unit: Unit, pads: list[int]) -> str:
        norm, one = f"{unit.name}.norm", graph.constant(NORM_EPSILON)
        deviation = graph.node("Sqrt", [graph.node("Add", [graph.weight(f"{norm}.running_var"), one])])
        scale = graph.node("Div", [graph.weight(f"{norm}.weight"), deviation])  # [outputs]
        column = graph.node("Reshape", [scale, graph.constant(np.asarray([-1, 1, 1, 1], np.int64))])
        weight = graph.node("Cast", [graph.weight(f"{unit.name}.convolution.weight")], to=1)
        weight = graph.node("Mul", [weight, column])
        shift = graph.node("Mul", [graph.weight(f"{norm}.running_mean"), scale])
        bias = graph.node("Sub", [graph.weight(f"{norm}.bias"), shift])
        return _activated(graph, graph.node("Conv", [value, weight, bias], **convolution(unit, pads)), unit)

    def add(self, graph: Graph, one: str, other: str, block: Block) -> str:
        return graph.node("Add", [one, other])

    def end(self, graph: Graph, value: str) -> str:
        return value


class Int8Layers:
    """8 bits. `weights` are merged with their batch norms; `ranges` are those of units and of blocks' sums.

    exact: beginnings of the names of units that stay in float32. The first ones cost little and lose most: their
    channels differ in scale by far more than 8 bits can tell.
    means: of the channels that units read [C]. What rounding the weights adds to the mean of an output is subtracted
    from its bias (Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization and Bias Correction",
    section 4.2): inputs are mostly positive, so that this is half of the error.
    """

    def __init__(
        self,
        weights: Mapping[str, tuple[np.ndarray, np.ndarray]],
        ranges: Mapping[str, Range],
        exact: tuple[str, ...] = (),
        means: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self.weights, self.ranges, self.exact, self.means = weights, ranges, exact, means or {}
        self.quantised: dict[str, tuple[float, int]] = {}
        """Scale and zero point of each value in 8 bits."""
        self.made_by: dict[str, str] = {}
        """The unit or block of each value in float32."""

    def start(self, graph: Graph, pixels: str) -> str:
        self.quantised[pixels] = (PIXEL_SCALE, PIXEL_ZERO)
        return pixels

    def unit(self, graph: Graph, value: str, unit: Unit, pads: list[int]) -> str:
        if unit.name.startswith(self.exact):
            return self._exact_unit(graph, self.end(graph, value), unit, pads)
        value = self._in_8_bits(graph, value)
        weight, bias = self.weights[unit.name]
        read, written = self.quantised[value], self.ranges[unit.name].levels()
        levels, scale = rows_in_int8(weight, np.abs(bias) / (read[0] * LARGEST_BIAS))
        if unit.name in self.means:
            bias = corrected_bias(weight, levels * scale.reshape(-1, 1, 1, 1), bias, self.means[unit.name])
        rounded = np.round(bias / (read[0] * scale.astype(np.float64))).astype(np.int32)
        found = graph.node(
            "QLinearConv",
            [
                value, *_constants(graph, read), graph.constant(levels), graph.constant(scale),
                graph.constant(np.zeros(len(levels), np.int8)), *_constants(graph, written), graph.constant(rounded),
            ],
            **convolution(unit, pads),
        )  # fmt: skip
        self.quantised[found] = written
        return found

    def add(self, graph: Graph, one: str, other: str, block: Block) -> str:
        if block.name.startswith(self.exact):
            found = graph.node("Add", [self.end(graph, one), self.end(graph, other)])
            self.made_by[found] = block.name
            return found
        one, other = self._in_8_bits(graph, one), self._in_8_bits(graph, other)
        written = self.ranges[block.name].levels()
        parts = [part for value in (one, other) for part in (value, *_constants(graph, self.quantised[value]))]
        found = graph.node("QLinearAdd", [*parts, *_constants(graph, written)], domain=CONTRIB)
        self.quantised[found] = written
        return found

    def end(self, graph: Graph, value: str) -> str:
        if value not in self.quantised:
            return value
        return graph.node("DequantizeLinear", [value, *_constants(graph, self.quantised[value])])

    def _exact_unit(self, graph: Graph, value: str, unit: Unit, pads: list[int]) -> str:
        weight, bias = self.weights[unit.name]
        parts = [value, graph.constant(weight), graph.constant(bias)]
        found = _activated(graph, graph.node("Conv", parts, **convolution(unit, pads)), unit)
        self.made_by[found] = unit.name
        return found

    def _in_8_bits(self, graph: Graph, value: str) -> str:
        if value in self.quantised:
            return value
        levels = self.ranges[self.made_by[value]].levels()
        found = graph.node("QuantizeLinear", [value, *_constants(graph, levels)])
        self.quantised[found] = levels
        return found


def _activated(graph: Graph, value: str, unit: Unit) -> str:
    if not unit.activated:
        return value
    return graph.node("Clip", [value, graph.constant(0.0), graph.constant(6.0)])


def rows_in_int8(weight: np.ndarray, least: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights [n, ...] as int8 from -127 to 127, and one scale per row [n], which is at least `least` [n]."""
    largest = np.abs(weight.reshape(len(weight), -1)).max(1) / 127
    scale = np.maximum(np.maximum(largest, least), 1e-12).astype(np.float32)
    levels = np.round(weight / scale.reshape(-1, *(1,) * (weight.ndim - 1)))
    return levels.clip(-127, 127).astype(np.int8), scale


def corrected_bias(weight: np.ndarray, rounded: np.ndarray, bias: np.ndarray, means: np.ndarray) -> np.ndarray:
    """The bias [n] that gives rounded weights the mean outputs of the true ones [n, m, k, k].

    means: of the input channels [C], m of which each output reads: all, or with n groups its own.
    """
    lost = (weight - rounded).sum((2, 3), dtype=np.float64)  # [n, m]
    read = means if lost.shape[1] == len(means) else means.reshape(len(lost), -1)  # [m] or [n, m]
    return np.asarray(bias + (lost * read).sum(1))


def convolution(unit: Unit, pads: list[int]) -> dict[str, Any]:
    """The attributes of a unit's convolution."""
    sides = [unit.kernel, unit.kernel]
    return {"kernel_shape": sides, "strides": [unit.stride] * 2, "pads": pads, "group": unit.groups}


def _constants(graph: Graph, levels: tuple[float, int]) -> list[str]:
    return [graph.constant(levels[0]), graph.constant(levels[1], np.uint8)]
