"""The names of exported graphs."""

from __future__ import annotations

from pathlib import Path

SUFFIXES = {"float32": ".onnx", "int8": "-int8.onnx"}


def graph_path(path: Path, precision: str) -> Path:
    """The graph of a file of weights, or of a part of a run (`run / "text"`).

    >>> graph_path(Path("lite0.safetensors"), "int8").name, graph_path(Path("text"), "float32").name
    ('lite0-int8.onnx', 'text.onnx')
    """
    return path.with_name(path.name.removesuffix(".safetensors") + SUFFIXES[precision])
