"""Runs a graph once it is written, to measure what its precision costs."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError


def graph_results(path: Path, inputs: list[dict[str, np.ndarray]], name: str) -> list[np.ndarray]:
    """The result called `name` for each set of inputs."""
    try:
        runtime: Any = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise InputError("Exporting a model needs onnxruntime; run `pip install onnxruntime`.") from error
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return [np.asarray(session.run([name], given)[0]) for given in inputs]
