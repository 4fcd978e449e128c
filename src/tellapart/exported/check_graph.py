"""A graph that multiplies the largest numbers of 8 bits, to find processors that clip such products."""

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
