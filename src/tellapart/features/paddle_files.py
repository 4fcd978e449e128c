"""Paddle's inference models read without Paddle: the graph's operations (.pdmodel) and its weights (.pdiparams).

A .pdmodel is a protobuf `ProgramDesc` (Paddle's framework.proto); the numbers of its fields stand below. A .pdiparams
holds the tensors one after the other, sorted by name. Each begins with a version, levels, a version, and the size and
bytes of a `TensorDesc`; then follow its values. Every size is checked against what is left of the file.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.features.protobuf_messages import Message, decoded, inner, message, messages, number, part, text

LARGEST_GRAPH, LARGEST_WEIGHTS = 8 * 2**20, 256 * 2**20
LARGEST_DESCRIPTION = 1024
"""Bytes of a file, and of the description of one tensor."""
DENSE_TENSOR, FLOAT32 = 7, 5
"""Numbers of Paddle's types."""


@dataclass(frozen=True)
class Operation:
    """One operation of a graph, with the names of the variables that it reads by their roles."""

    kind: str
    inputs: dict[str, list[str]]


@dataclass(frozen=True)
class Program:
    """A graph: the shapes of its weights, and its operations in the order in which they run."""

    weights: dict[str, tuple[int, ...]]
    operations: list[Operation]


def read_program(path: Path) -> Program:
    """The graph of a .pdmodel file with one block."""
    data = _read(path, LARGEST_GRAPH)
    try:
        blocks = messages(message(data), 1)
        if len(blocks) != 1:
            raise ValueError(f"it has {len(blocks)} blocks, not one")
        variables, operations = messages(blocks[0], 3), messages(blocks[0], 4)
        weights = {text(variable, 1): shape for variable in variables if (shape := _weight_shape(variable))}
        return Program(weights, [_operation(operation) for operation in operations])
    except ValueError as error:
        raise _broken(path, error) from error


def read_weights(path: Path, shapes: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """The tensors of a .pdiparams file, whose names and shapes are those of its program."""
    data = _read(path, LARGEST_WEIGHTS)
    found, position = {}, 0
    try:
        for name in sorted(shapes, key=str.encode):
            try:
                found[name], position = _tensor(data, position, shapes[name])
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
        if position != len(data):
            raise ValueError(f"{len(data) - position} bytes follow its last tensor")
    except ValueError as error:
        raise _broken(path, error) from error
    return found


def _read(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the path.") from error
    if len(data) > most:
        raise InputError(f"{path} has more than {most // 2**20} MB, so it is not a file of an image backbone.")
    return data


def _broken(path: Path, error: ValueError) -> InputError:
    return InputError(f"{path} is not a file of a Paddle inference model ({error}); download it again.")


def _tensor(data: bytes, position: int, shape: tuple[int, ...]) -> tuple[Tensor, int]:
    """The tensor that begins at a position, and where it ends."""
    head, position = part(data, position, 20)
    version, levels, tensor_version, size = struct.unpack("<IQIi", head)
    if version or levels or tensor_version:
        raise ValueError(f"version {version}.{tensor_version} with {levels} levels; only 0.0 without levels is known")
    if not 0 < size <= LARGEST_DESCRIPTION:
        raise ValueError(f"a description of {size} bytes")
    described, position = part(data, position, size)
    description = message(described)
    if number(description, 1) != FLOAT32:
        raise ValueError("its values are not float32")
    if (stored := _shape(description)) != shape:
        raise ValueError(f"its shape is {list(stored)}, and in the graph {list(shape)}")
    values, position = part(data, position, 4 * math.prod(shape))
    return torch.from_numpy(np.frombuffer(values, dtype="<f4").astype(np.float32)).view(shape), position


def _weight_shape(variable: Message) -> tuple[int, ...]:
    """The shape of a variable that is stored; empty for others."""
    kind = inner(variable, 2)
    if variable.get(3) != [1] or number(kind, 1) != DENSE_TENSOR:
        return ()
    return _shape(inner(inner(kind, 3), 1))


def _shape(tensor: Message) -> tuple[int, ...]:
    shape = tuple(size for size in tensor.get(2, []) if isinstance(size, int) and 0 < size < 2**31)
    if not shape or len(shape) != len(tensor.get(2, [])):
        raise ValueError("a weight without a fixed shape")
    return shape


def _operation(operation: Message) -> Operation:
    inputs = {text(role, 1): [decoded(name) for name in role.get(2, [])] for role in messages(operation, 1)}
    return Operation(text(operation, 3), inputs)
