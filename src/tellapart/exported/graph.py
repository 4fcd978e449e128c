"""Builds ONNX graphs node by node. Weights stay in their safetensors file, to which the graph points.

A graph of a run is then a few kilobytes, and no weight is stored twice: `torch` and onnxruntime read the same bytes.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_path

OPSET, CONTRIB_OPSET = 20, 1
CONTRIB = "com.microsoft"
"""The domain of onnxruntime's own operators."""
TYPES = {"F32": "FLOAT", "F16": "FLOAT16", "I8": "INT8", "I64": "INT64"}


class StoredWeights:
    """Where a safetensors file keeps each tensor: type, shape, first byte and length."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        self.header: dict[str, dict[str, Any]] = header
        self.first = 8 + length

    def __contains__(self, name: str) -> bool:
        return name in self.header

    def place(self, name: str) -> tuple[str, list[int], int, int]:
        """Type, shape, offset and length in bytes."""
        entry = self.header[name]
        begin, end = entry["data_offsets"]
        return entry["dtype"], entry["shape"], self.first + begin, end - begin


class Graph:
    """A graph in the making. Values are known by name; `node` returns the names of its results."""

    def __init__(self, name: str, weights: StoredWeights | None = None) -> None:
        self.onnx = onnx_package()
        self.name, self.weights = name, weights
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self.renamed: dict[str, str] = {}
        """Results that are outputs of the graph, under their new names."""

    def input(self, name: str, kind: str, shape: Sequence[int | str]) -> str:
        """An input of the graph; a dimension with a name may have any size."""
        self.inputs.append(self._value(name, kind, shape))
        return name

    def output(self, value: str, name: str, kind: str, shape: Sequence[int | str]) -> None:
        """Return a value, which gets this name."""
        for node in self.nodes:
            for places in (node.input, node.output):
                for number, found in enumerate(places):
                    if found == value:
                        places[number] = name
        self.renamed[value] = name
        self.outputs.append(self._value(name, kind, shape))

    def node(self, operator: str, inputs: Sequence[str], domain: str = "", **attributes: Any) -> str:
        """Add an operator with one result."""
        result = f"{operator}_{len(self.nodes)}"
        read = [self.renamed.get(value, value) for value in inputs]
        self.nodes.append(self.onnx.helper.make_node(operator, read, [result], domain=domain, **attributes))
        return result

    def split_node(self, operator: str, inputs: Sequence[str], results: int, **attributes: Any) -> list[str]:
        """Add an operator with several results."""
        names = [f"{operator}_{len(self.nodes)}_{number}" for number in range(results)]
        read = [self.renamed.get(value, value) for value in inputs]
        self.nodes.append(self.onnx.helper.make_node(operator, read, names, **attributes))
        return names

    def constant(self, array: np.ndarray | float | int, kind: type[np.generic] = np.float32) -> str:
        """A value inside the graph file."""
        value = np.asarray(array, None if isinstance(array, np.ndarray) else kind)
        key = f"constant_{len(self.initializers)}"
        self.initializers[key] = self.onnx.numpy_helper.from_array(np.array(value, order="C"), key)
        return key

    def weight(self, name: str) -> str:
        """A tensor of the weights' file, which lies beside the graph."""
        if name not in self.initializers:
            assert self.weights is not None
            kind, shape, offset, length = self.weights.place(name)
            tensor = self.onnx.TensorProto(name=name, dims=shape, data_type=self._type(TYPES[kind]))
            tensor.data_location = self.onnx.TensorProto.EXTERNAL
            facts = {"location": self.weights.path.name, "offset": str(offset), "length": str(length)}
            for key, value in facts.items():
                tensor.external_data.add(key=key, value=value)
            self.initializers[name] = tensor
        return name

    def save(self, path: Path) -> None:
        """Write the graph."""
        helper = self.onnx.helper
        graph = helper.make_graph(
            self.nodes, self.name, self.inputs, self.outputs, initializer=list(self.initializers.values())
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, CONTRIB_OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="tellapart")
        model.ir_version = 10
        with atomic_path(path) as partial:
            partial.write_bytes(model.SerializeToString())

    def _value(self, name: str, kind: str, shape: Sequence[int | str]) -> Any:
        return self.onnx.helper.make_tensor_value_info(name, self._type(kind), list(shape))

    def _type(self, kind: str) -> int:
        return int(getattr(self.onnx.TensorProto, kind))


def onnx_package() -> Any:
    """The package `onnx`, which only exporting needs."""
    try:
        return importlib.import_module("onnx")
    except ImportError as error:
        raise InputError("Exporting a model needs the package onnx; run `pip install onnx`.") from error
