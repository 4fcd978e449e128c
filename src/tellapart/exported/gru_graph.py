"""A bidirectional GRU over words as ONNX nodes (`models.matchers.word_gru`).

Torch keeps the gates of a direction in the order reset, update, new; ONNX reads update, reset, new, and both
directions and all biases in one tensor each. The graph sorts and joins the stored weights when it is opened. As in
torch, texts are padded to the length of training, since the direction from the end reads the padding first.
"""

from __future__ import annotations

from tellapart.exported.graph import Graph
from tellapart.exported.linear_layers import FLOAT, embedded, restored
from tellapart.exported.transformer_graph import numbers, sliced
from tellapart.models.matchers.word_gru import LENGTH

DIRECTIONS = ("", "_reverse")
PADDED = -1e4
"""The value of padding before the largest value is taken."""


def gru_words(graph: Graph, tokens: str, mask: str, hidden: int, name: str = "text") -> str:
    """Word ids [C, T] and which are real [C, T] -> the largest value over the words [C, 2 * hidden]."""
    length = graph.node("Shape", [tokens], start=1, end=2)
    missing = graph.node("Max", [graph.node("Sub", [numbers(graph, LENGTH), length]), numbers(graph, 0)])
    padded = graph.node("Pad", [tokens, graph.node("Concat", [numbers(graph, 0, 0, 0), missing], axis=0)])
    words = graph.node("Transpose", [embedded(graph, f"{name}.words.weight", padded)], perm=[1, 0, 2])  # [T, C, W]
    weights = [_both(graph, f"{name}.gru.weight_{part}_l0") for part in ("ih", "hh")]
    biases = graph.node("Concat", [_both_biases(graph, f"{name}.gru.bias_{part}_l0") for part in ("ih", "hh")], axis=1)
    # The reset gate is applied after the recurrent product and its bias, as torch does it.
    read = graph.node(
        "GRU", [words, *weights, biases], direction="bidirectional", hidden_size=hidden, linear_before_reset=1
    )  # [T, 2, C, hidden]
    turned = graph.node("Transpose", [read], perm=[2, 0, 1, 3])
    rows = graph.node("Reshape", [turned, numbers(graph, 0, 0, 2 * hidden)])  # [C, at least T, 2 * hidden]
    rows = sliced(graph, rows, numbers(graph, 0), length, 1)
    real = graph.node("Unsqueeze", [mask, numbers(graph, 2)])
    kept = graph.node("Where", [real, rows, graph.constant(PADDED)])
    return graph.node("ReduceMax", [kept, numbers(graph, 1)], keepdims=0)


def _both(graph: Graph, weight: str) -> str:
    """Matrices [3 * hidden, K] of both directions -> [2, 3 * hidden, K]."""
    return _joined(graph, [_sorted(graph, restored(graph, weight + direction)) for direction in DIRECTIONS])


def _both_biases(graph: Graph, bias: str) -> str:
    """Biases [3 * hidden] of both directions -> [2, 3 * hidden]."""
    floats = [graph.node("Cast", [graph.weight(bias + direction)], to=FLOAT) for direction in DIRECTIONS]
    return _joined(graph, [_sorted(graph, value) for value in floats])


def _sorted(graph: Graph, rows: str) -> str:
    """Rows of the gates in torch's order, in ONNX's order."""
    reset, update, new = graph.split_node("Split", [rows], 3, axis=0, num_outputs=3)
    return graph.node("Concat", [update, reset, new], axis=0)


def _joined(graph: Graph, parts: list[str]) -> str:
    return graph.node("Concat", [graph.node("Unsqueeze", [part, numbers(graph, 0)]) for part in parts], axis=0)
