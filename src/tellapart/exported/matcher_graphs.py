"""The two sides of a dual encoder as ONNX graphs (`models.matchers.dual_encoder`)."""

from __future__ import annotations

from tellapart.exported.graph import Graph, StoredWeights
from tellapart.exported.gru_graph import gru_words
from tellapart.exported.linear_layers import FLOAT, Linears, embedded, restored
from tellapart.exported.transformer_graph import Parts, numbers, sliced
from tellapart.models.matchers.dual_encoder import DualEncoder
from tellapart.models.matchers.sentence_encoder import NORM_EPSILON


class MatcherGraph(Graph):
    """A graph whose layers read biases and norms in float32, also where the file has them in float16."""

    def __init__(self, name: str, weights: StoredWeights) -> None:
        super().__init__(name, weights)
        self.widened: dict[str, str] = {}
        """Vectors in float32, by name."""

    def weight(self, name: str) -> str:
        """A tensor of the weights' file; a vector in float32. Matrices are restored where they are read."""
        stored = super().weight(name)
        assert self.weights is not None
        kind, shape, _, _ = self.weights.place(name)
        if kind != "F16" or len(shape) != 1:
            return stored
        if name not in self.widened:
            self.widened[name] = self.node("Cast", [stored], to=FLOAT)
        return self.widened[name]


def image_graph(weights: StoredWeights, linears: Linears, rows: int, width: int) -> Graph:
    """Cells [I, R, D] -> vectors [I, E] of length one."""
    graph = MatcherGraph("image", weights)
    parts = Parts(graph, linears, 1)
    cells = graph.input("cells", "FLOAT", ["images", rows, width])
    mean = graph.node("ReduceMean", [cells, numbers(graph, 1)], keepdims=0)
    scores = parts.linear(parts.norm(cells, "pool.norm"), "pool.attend")  # [I, R, 1]
    shares = graph.node("Softmax", [scores], axis=1)
    weighted = graph.node("ReduceSum", [graph.node("Mul", [cells, shares]), numbers(graph, 1)], keepdims=0)
    pooled = graph.node("Concat", [mean, weighted], axis=-1)
    graph.output(_unit(graph, parts.linear(pooled, "image")), "vectors", "FLOAT", ["images", "embedding"])
    return graph


def text_graph(weights: StoredWeights, linears: Linears, settings: DualEncoder) -> Graph:
    """Tokens [C, T] and which are real [C, T] -> vectors [C, E] of length one."""
    graph = MatcherGraph("text", weights)
    parts = Parts(graph, linears, settings.heads)
    read = _gru_text(graph, settings) if settings.text == "gru" else _transformer_text(parts, settings)
    graph.output(_unit(graph, parts.linear(read, "caption")), "vectors", "FLOAT", ["texts", "embedding"])
    return graph


def _gru_text(graph: Graph, settings: DualEncoder) -> str:
    tokens = graph.input("tokens", "INT64", ["texts", "tokens"])
    mask = graph.input("mask", "BOOL", ["texts", "tokens"])
    return gru_words(graph, tokens, mask, settings.feed_forward)


def _transformer_text(parts: Parts, settings: DualEncoder) -> str:
    """The mean of the words [C, H]."""
    graph = parts.graph
    most = numbers(graph, settings.positions)
    tokens = sliced(graph, graph.input("tokens", "INT64", ["texts", "tokens"]), numbers(graph, 0), most, 1)
    mask = sliced(graph, graph.input("mask", "BOOL", ["texts", "tokens"]), numbers(graph, 0), most, 1)
    length = graph.node("Shape", [tokens], start=1, end=2)
    places = sliced(graph, restored(graph, "text.positions"), numbers(graph, 0), length, 0)
    words = parts.add(parts.add(embedded(graph, "text.words.weight", tokens), places), graph.weight("text.kind"))
    words = parts.norm(words, "text.norm", NORM_EPSILON)
    keep = graph.node("Unsqueeze", [mask, numbers(graph, 1, 2)])  # [C, 1, 1, T]
    for number in range(settings.layers):
        name = f"text.layers.{number}"
        read = parts.keys_and_values(words, f"{name}.attention")
        mixed, _ = parts.attention(words, read, f"{name}.attention", settings.text_width, keep)
        words = parts.norm(parts.add(words, mixed), f"{name}.attention_norm", NORM_EPSILON)
        added = parts.feed_forward(words, f"{name}.inner", f"{name}.outer")
        words = parts.norm(parts.add(words, added), f"{name}.outer_norm", NORM_EPSILON)
    kept = graph.node("Unsqueeze", [graph.node("Cast", [mask], to=FLOAT), numbers(graph, 2)])
    total = graph.node("ReduceSum", [graph.node("Mul", [words, kept]), numbers(graph, 1)], keepdims=0)
    count = graph.node("ReduceSum", [kept, numbers(graph, 1)], keepdims=0)
    return graph.node("Div", [total, graph.node("Max", [count, graph.constant(1.0)])])


def _unit(graph: Graph, vectors: str) -> str:
    """Vectors of length one: `functional.normalize`, which divides by at least 1e-12."""
    length = graph.node("ReduceL2", [vectors, numbers(graph, -1)], keepdims=1)
    return graph.node("Div", [vectors, graph.node("Max", [length, graph.constant(1e-12)])])
