"""The parts of a transformer as ONNX nodes: layer norm, heads, attention, feed-forward (`transformer_layers`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart.exported.graph import Graph
from tellapart.exported.linear_layers import Linears

LOWEST = float(np.finfo(np.float32).min)


@dataclass(frozen=True)
class Parts:
    """The layers of one graph."""

    graph: Graph
    linears: Linears
    heads: int

    def linear(self, value: str, name: str) -> str:
        """The linear layer called `name`."""
        return self.linears.linear(self.graph, value, f"{name}.weight", f"{name}.bias")

    def norm(self, value: str, name: str, epsilon: float = 1e-5) -> str:
        """The layer norm called `name`."""
        parts = [value, self.graph.weight(f"{name}.weight"), self.graph.weight(f"{name}.bias")]
        return self.graph.node("LayerNormalization", parts, axis=-1, epsilon=epsilon)

    def split(self, rows: str) -> str:
        """Rows [N, L, H] -> [N, h, L, d]."""
        shape = self.graph.constant(np.asarray([0, 0, self.heads, -1], np.int64))
        return self.graph.node("Transpose", [self.graph.node("Reshape", [rows, shape])], perm=[0, 2, 1, 3])

    def joined(self, parts: str) -> str:
        """Parts [N, h, L, d] -> rows [N, L, H]."""
        turned = self.graph.node("Transpose", [parts], perm=[0, 2, 1, 3])
        return self.graph.node("Reshape", [turned, self.graph.constant(np.asarray([0, 0, -1], np.int64))])

    def keys_and_values(self, rows: str, name: str) -> tuple[str, str]:
        """Rows [N, L, H] -> keys and values [N, h, L, d] of the attention called `name`."""
        return self.split(self.linear(rows, f"{name}.key")), self.split(self.linear(rows, f"{name}.value"))

    def attention(self, rows: str, read: tuple[str, str], name: str, width: int, keep: str = "") -> tuple[str, str]:
        """softmax(Q K^T / sqrt(d)) V [N, Q, H] and the weights [N, h, Q, L]; keep: bool, broadcast to the weights."""
        graph = self.graph
        query = self.split(self.linear(rows, f"{name}.query"))
        turned = graph.node("Transpose", [read[0]], perm=[0, 1, 3, 2])
        scale = graph.constant((width / self.heads) ** -0.5)
        scores = graph.node("Mul", [graph.node("MatMul", [query, turned]), scale])
        if keep:
            scores = graph.node("Where", [keep, scores, graph.constant(LOWEST)])
        weights = graph.node("Softmax", [scores], axis=-1)
        mixed = self.joined(graph.node("MatMul", [weights, read[1]]))
        return self.linear(mixed, f"{name}.output"), weights

    def feed_forward(self, rows: str, first: str, second: str) -> str:
        """Two linear layers with a GELU between them."""
        return self.linear(self.graph.node("Gelu", [self.linear(rows, first)]), second)

    def add(self, one: str, other: str) -> str:
        """The sum."""
        return self.graph.node("Add", [one, other])


def sliced(graph: Graph, value: str, first: str, last: str, axis: int) -> str:
    """value[first:last] along an axis; `first` and `last` are names of vectors with one number."""
    return graph.node("Slice", [value, first, last, graph.constant(np.asarray([axis], np.int64))])


def numbers(graph: Graph, *values: int) -> str:
    """A vector of whole numbers."""
    return graph.constant(np.asarray(values, np.int64))
