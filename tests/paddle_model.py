"""Paddle inference models for tests: a writer of small ones, and an interpreter of graphs.

The interpreter reads the graph's file by itself, so that it shares nothing with what it checks.
"""

from __future__ import annotations

import struct
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    groups = [value & 127]
    while value := value >> 7:
        groups.append(value & 127)
    return bytes([*(group | 128 for group in groups[:-1]), groups[-1]])


def field(number: int, value: int | float | str | bytes) -> bytes:
    """One field of a message; a float is written in four bytes."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor_description(shape: tuple[int, ...], kind: int = 5) -> bytes:
    return field(1, kind) + b"".join(field(2, size) for size in shape)


def stored_tensor(value: Tensor) -> bytes:
    described = tensor_description(tuple(value.shape))
    return struct.pack("<IQIi", 0, 0, 0, len(described)) + described + value.numpy().astype("<f4").tobytes()


class GraphWriter:
    """Writes operations and weights one after the other; every method returns the name of its output."""

    def __init__(self, seed: int = 0) -> None:
        self.weights: dict[str, Tensor] = {}
        self.operations: list[bytes] = []
        self.variables: list[bytes] = [field(1, "feed") + field(2, field(1, 9)) + field(3, 1)]
        self.random = torch.Generator().manual_seed(seed)
        self.add("feed", {"X": "feed"}, "x")

    def add(self, kind: str, inputs: dict[str, str], output: str = "", **attributes: int | float | list[int]) -> str:
        output = output or f"value_{len(self.operations)}"
        message = b"".join(field(1, field(1, role) + field(2, name)) for role, name in inputs.items())
        message += field(2, field(1, "Out") + field(2, output)) + field(3, kind)
        for name, value in attributes.items():
            numbers = {int: 3, float: 4, list: 6}[type(value)]
            values = value if isinstance(value, list) else [value]
            message += field(4, field(1, name) + field(2, 0) + b"".join(field(numbers, one) for one in values))
        self.operations.append(message)
        return output

    def weight(self, name: str, *shape: int, low: float = -1.0, high: float = 1.0) -> str:
        self.weights[name] = torch.rand(shape, generator=self.random) * (high - low) + low
        described = field(1, 7) + field(3, field(1, tensor_description(shape)))
        self.variables.append(field(1, name) + field(2, described) + field(3, 1))
        return name

    def convolution(self, x: str, inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> str:
        name, bound = f"conv2d_{len(self.weights)}.w_0", (3 * groups / (inputs * kernel**2)) ** 0.5
        weight = self.weight(name, outputs, inputs // groups, kernel, kernel, low=-bound, high=bound)
        kind = "conv2d" if groups == 1 else "depthwise_conv2d"
        sides = {"strides": [stride] * 2, "paddings": [kernel // 2] * 2, "dilations": [1, 1], "groups": groups}
        return self.add(kind, {"Input": x, "Filter": weight}, **sides)

    def bias(self, x: str, width: int) -> str:
        return self.add("elementwise_add", {"X": x, "Y": self.weight(f"conv2d_{len(self.weights)}.b_0", width)}, axis=1)

    def norm(self, x: str, width: int) -> str:
        name = f"batch_norm2d_{len(self.weights)}"
        inputs = {"X": x}
        for role, suffix, low in (
            ("Scale", "w_0", 0.5),
            ("Bias", "b_0", -1),
            ("Mean", "w_1", -1),
            ("Variance", "w_2", 1),
        ):
            inputs[role] = self.weight(f"{name}.{suffix}", width, low=low, high=1.5)
        return self.add("batch_norm", inputs, epsilon=1e-5)

    def relu(self, x: str) -> str:
        return self.add("relu", {"X": x})

    def save(self, folder: Path) -> None:
        block = field(1, 0) + b"".join(field(3, one) for one in self.variables)
        block += b"".join(field(4, one) for one in self.operations)
        (folder / "inference.pdmodel").write_bytes(field(1, block))
        stored = b"".join(stored_tensor(self.weights[name]) for name in sorted(self.weights))
        (folder / "inference.pdiparams").write_bytes(stored)


def _fields(data: bytes) -> dict[int, list]:
    found: dict[int, list] = {}
    position = 0

    def number() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = data[position]
            position, value, shift = position + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while position < len(data):
        key = number()
        if key & 7 == 0:
            found.setdefault(key >> 3, []).append(number())
            continue
        size = {1: 8, 5: 4}.get(key & 7) or number()
        found.setdefault(key >> 3, []).append(data[position : position + size])
        position += size
    return found


def run_graph(folder: Path, pixels: Tensor) -> dict[str, Tensor]:
    """The values of all variables of the stored graph, and under `last map` what enters its last pooling."""
    block = _fields(_fields((folder / "inference.pdmodel").read_bytes())[1][0])
    stored = (one[1][0].decode() for one in map(_fields, block[3]) if one.get(3) == [1])
    values: dict[str, Tensor] = {"feed": pixels}
    data, position = bytearray((folder / "inference.pdiparams").read_bytes()), 0
    for name in sorted(set(stored) - {"feed", "fetch"}):
        size = struct.unpack_from("<i", data, position + 16)[0]
        shape = _fields(bytes(data[position + 20 : position + 20 + size]))[2]
        count = torch.Size(shape).numel()
        values[name] = torch.frombuffer(data, dtype=torch.float32, count=count, offset=position + 20 + size)
        values[name] = values[name].to(pixels.dtype, copy=True).view(shape)
        position += 20 + size + 4 * count
    for operation in map(_fields, block[4]):
        inputs, outputs = (
            {one[1][0].decode(): one[2][0].decode() for one in map(_fields, operation.get(side, [])) if 2 in one}
            for side in (1, 2)
        )
        attributes = {
            one[1][0].decode(): [value for key in one if key > 2 for value in one[key]]
            for one in map(_fields, operation.get(4, []))
        }
        given = {role: values[name] for role, name in inputs.items()}
        kind = operation[3][0].decode()
        result = _result(kind, given, attributes)
        values[outputs.get("Out") or outputs.get("Y") or outputs["Output"]] = result
        if kind == "pool2d":
            values["last map"] = given["X"]
    values.setdefault("last map", result)
    return values


def _result(kind: str, given: dict[str, Tensor], attributes: dict[str, list]) -> Tensor:
    x = given.get("X")
    if kind in ("conv2d", "depthwise_conv2d"):
        strides, paddings, dilations = (attributes[key] for key in ("strides", "paddings", "dilations"))
        groups = attributes["groups"][0]
        return F.conv2d(given["Input"], given["Filter"], None, strides, paddings, dilations, groups)
    if kind == "batch_norm":
        (epsilon,) = struct.unpack("<f", attributes["epsilon"][0])
        means = (given["Mean"], given["Variance"])
        return F.batch_norm(x, *means, given["Scale"], given["Bias"], training=False, eps=epsilon)
    if kind == "elementwise_add":
        other = given["Y"]
        return x + (other.view(-1, 1, 1) if other.dim() == 1 and x.dim() == 4 else other)
    if kind == "elementwise_mul":
        return x * given["Y"]
    if kind == "pool2d":
        assert attributes["adaptive"] == [1] and attributes["ksize"] == [1, 1]
        return F.adaptive_avg_pool2d(x, 1)
    if kind == "dropout":  # "downgrade_in_infer": values are scaled down outside training
        return x * (1 - struct.unpack("<f", attributes["dropout_prob"][0])[0])
    simple = {
        "feed": lambda: x,
        "fetch": lambda: x,
        "relu": lambda: F.relu(x),
        "sigmoid": lambda: torch.sigmoid(x),
        "softmax": lambda: F.softmax(x, -1),
        "flatten_contiguous_range": lambda: x.flatten(1),
        "matmul_v2": lambda: x @ given["Y"],
    }
    return simple[kind]()
