"""The transformer captioner as two ONNX graphs: what it reads of an image once, and one word of a caption.

The step also ranks the next words (log-softmax, guide, the best `count`), so that tables of all words stay inside.
"""

from __future__ import annotations

from tellapart.exported.graph import Graph, StoredWeights
from tellapart.exported.linear_layers import Linears, embedded, restored
from tellapart.exported.transformer_graph import Parts, numbers, sliced
from tellapart.models.captioners.transformer import Transformer
from tellapart.text.vocabulary import END


def start_graph(weights: StoredWeights, linears: Linears, settings: Transformer, rows: int, width: int) -> Graph:
    """Cells [I, R, D] -> keys and values [I, h, R, d] of each decoder layer."""
    graph = Graph("start", weights)
    parts = Parts(graph, linears, settings.heads)
    cells = graph.input("cells", "FLOAT", ["images", rows, width])
    places = sliced(graph, restored(graph, "places"), numbers(graph, 0), numbers(graph, rows), 0)
    cells = parts.add(parts.norm(parts.linear(cells, "cells"), "cells_norm"), places)
    for number in range(settings.encoder_layers):
        name = f"encoder.{number}"
        normed = parts.norm(cells, f"{name}.attention_norm")
        read = parts.keys_and_values(normed, f"{name}.attention")
        mixed, _ = parts.attention(normed, read, f"{name}.attention", settings.width)
        cells = parts.add(cells, mixed)
        normed = parts.norm(cells, f"{name}.feed_forward_norm")
        cells = parts.add(cells, parts.feed_forward(normed, f"{name}.feed_forward.0", f"{name}.feed_forward.3"))
    encoded = parts.norm(cells, "encoder_norm")
    for number in range(settings.decoder_layers):
        keys, values = parts.keys_and_values(encoded, f"decoder.{number}.cross")
        for kind, value in (("cell_keys", keys), ("cell_values", values)):
            graph.output(value, f"{kind}{number}", "FLOAT", ["images", settings.heads, rows, "depth"])
    return graph


def step_graph(weights: StoredWeights, linears: Linears, settings: Transformer, rows: int) -> Graph:
    """One word [N] after those in the state -> the best next words, the new state, and attention [N, R].

    N = k I captions, image by image. guide [I or 1, V] is added to log-probabilities when words are ranked.
    """
    graph = Graph("step", weights)
    parts = Parts(graph, linears, settings.heads)
    word = graph.input("word", "INT64", ["captions"])
    read = graph.input("read", "INT64", [1])  # words read before
    guide = graph.input("guide", "FLOAT", ["guided", "vocabulary"])
    count = graph.input("count", "INT64", [1])
    place = graph.node("Gather", [restored(graph, "positions"), read], axis=0)  # [1, H]
    words = graph.node("Unsqueeze", [parts.add(embedded(graph, "words.weight", word), place), numbers(graph, 1)])
    shares = ""
    for number in range(settings.decoder_layers):
        words, shares = _decoder_layer(parts, words, number, settings, rows)
    hidden = graph.node("Squeeze", [parts.norm(words, "decoder_norm"), numbers(graph, 1)])  # [N, H]
    logits = linears.linear(graph, hidden, "words.weight", "bias")
    _rank(graph, graph.node("LogSoftmax", [logits], axis=-1), guide, count)
    attention = graph.node("ReduceMean", [shares, numbers(graph, 1)], keepdims=0)  # [I, k, R]
    attention = graph.node("Reshape", [attention, numbers(graph, -1, rows)])
    graph.output(attention, "attention", "FLOAT", ["captions", rows])
    return graph


def _decoder_layer(parts: Parts, words: str, number: int, settings: Transformer, rows: int) -> tuple[str, str]:
    """Words [N, 1, H] -> [N, 1, H], and the weights over the cells [I, h, k, R]."""
    graph, name = parts.graph, f"decoder.{number}"
    normed = parts.norm(words, f"{name}.own_norm")
    read = []
    for kind, value in zip(("keys", "values"), parts.keys_and_values(normed, f"{name}.own")):
        before = graph.input(f"{kind}{number}", "FLOAT", ["captions", settings.heads, "read", "depth"])
        read.append(graph.node("Concat", [before, value], axis=2))
        graph.output(read[-1], f"next_{kind}{number}", "FLOAT", ["captions", settings.heads, "now", "depth"])
    mixed, _ = parts.attention(normed, (read[0], read[1]), f"{name}.own", settings.width)
    words = parts.add(words, mixed)
    shape: list[int | str] = ["images", settings.heads, rows, "depth"]
    cells = (
        graph.input(f"cell_keys{number}", "FLOAT", shape),
        graph.input(f"cell_values{number}", "FLOAT", shape),
    )
    images = graph.node("Shape", [cells[0]], start=0, end=1)
    grouped = graph.node("Concat", [images, numbers(graph, -1, settings.width)], axis=0)
    queries = graph.node("Reshape", [parts.norm(words, f"{name}.cross_norm"), grouped])  # [I, k, H]
    mixed, shares = parts.attention(queries, cells, f"{name}.cross", settings.width)
    words = parts.add(words, graph.node("Reshape", [mixed, numbers(graph, -1, 1, settings.width)]))
    normed = parts.norm(words, f"{name}.feed_forward_norm")
    added = parts.feed_forward(normed, f"{name}.feed_forward.0", f"{name}.feed_forward.3")
    return parts.add(words, added), shares


def _rank(graph: Graph, own: str, guide: str, count: str) -> None:
    """The best `count` words of log-probabilities [N, V] plus guide, and END."""
    images = graph.node("Shape", ["cell_keys0"], start=0, end=1)
    words = graph.node("Shape", [own], start=1, end=2)
    by_image = graph.node("Concat", [images, numbers(graph, -1), words], axis=0)
    flat = graph.node("Concat", [numbers(graph, -1), words], axis=0)
    guided = graph.node(
        "Add", [graph.node("Reshape", [own, by_image]), graph.node("Unsqueeze", [guide, numbers(graph, 1)])]
    )
    guided = graph.node("Reshape", [guided, flat])
    best, word = graph.split_node("TopK", [guided, count], 2, axis=-1)
    graph.output(best, "best", "FLOAT", ["captions", "count"])
    graph.output(word, "best_word", "INT64", ["captions", "count"])
    graph.output(graph.node("GatherElements", [own, word], axis=1), "best_own", "FLOAT", ["captions", "count"])
    for name, value in (("end", guided), ("end_own", own)):
        graph.output(
            sliced(graph, value, numbers(graph, END), numbers(graph, END + 1), 1), name, "FLOAT", ["captions", 1]
        )
