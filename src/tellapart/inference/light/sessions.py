"""Opening exported graphs with onnxruntime, and choosing their precision."""

from __future__ import annotations

import functools
import importlib
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.explained import explained
from tellapart.runs.graph_names import graph_path

__all__ = ["Session", "as_half", "chosen_precision", "exact_products", "graph_path"]

PRECISIONS = ("auto", "float32", "int8")
CHECK = Path(__file__).with_name("int8-check.onnx")
"""Multiplies the largest numbers of 8 bits: processors without the right instructions clip the sum."""
HALF = Path(__file__).with_name("half.onnx")


class Session:
    """A graph that runs on the CPU, one thread per call. Safe to call from several threads."""

    def __init__(self, path: Path) -> None:
        runtime = onnxruntime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.enable_mem_pattern = False  # shapes differ from call to call: a plan for each takes time and memory
        with explained(path, "install the package again, or export the run again"):
            self.session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.results = [output.name for output in self.session.get_outputs()]

    def __call__(self, **inputs: np.ndarray) -> dict[str, np.ndarray]:
        """All results by name."""
        return dict(zip(self.results, self.session.run(None, inputs)))


def chosen_precision(precision: str) -> str:
    """`auto` is int8 where products of 8 bits are exact, otherwise float32."""
    if precision not in PRECISIONS:
        raise InputError(f"`precision` must be one of {', '.join(PRECISIONS)}, not '{precision}'.")
    if precision != "auto":
        return precision
    return "int8" if exact_products() else "float32"


@functools.cache
def exact_products() -> bool:
    """Whether this processor multiplies numbers of 8 bits without clipping: x86 needs VNNI for it."""
    found = Session(CHECK)(numbers=np.full((1, 64), 255, np.uint8))["product"]
    return bool((found == 255 * 127 * 64).all())


def as_half(numbers: np.ndarray) -> np.ndarray:
    """Numbers [I, R, D] of float32, rounded to float16 and back."""
    return _half()(numbers=numbers)["rounded"]


@functools.cache
def _half() -> Session:
    return Session(HALF)


def onnxruntime() -> Any:
    """The package onnxruntime."""
    try:
        return importlib.import_module("onnxruntime")
    except ImportError as error:
        raise InputError("This needs onnxruntime; run `pip install onnxruntime`.") from error
