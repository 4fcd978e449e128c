"""Graphs without weights: one finds processors that clip products of 8 bits, one rounds to float16.

Written once into `inference/light`: int8-check.onnx and half.onnx.
"""

from __future__ import annotations

import numpy as np

from tellapart.exported.graph import Graph

LENGTH, COLUMNS = 64, 16


def check_graph() -> Graph:
    """numbers [1, 64] of uint8 -> product [1, 16] of int32 with a matrix of 127."""
    graph = Graph("check")
    numbers = graph.input("numbers", "UINT8", [1, LENGTH])
    matrix = graph.constant(np.full((LENGTH, COLUMNS), 127, np.int8))
    graph.output(graph.node("MatMulInteger", [numbers, matrix]), "product", "INT32", [1, COLUMNS])
    return graph


def half_graph() -> Graph:
    """numbers of float32 -> rounded, the same through float16; onnxruntime takes a thirtieth of numpy's time for it."""
    graph = Graph("half")
    numbers = graph.input("numbers", "FLOAT", ["images", "rows", "width"])
    rounded = graph.node("Cast", [graph.node("Cast", [numbers], to=10)], to=1)
    graph.output(rounded, "rounded", "FLOAT", ["images", "rows", "width"])
    return graph
