"""The bundled backbone by onnxruntime and by OpenVINO: processor time per image, and what rounding costs.

`python -m benchmarks runtimes`; without OpenVINO (`pip install --no-deps openvino openvino-telemetry`) only onnxruntime
runs. Images are noise of the backbone's size, eight at once, on one thread. The error is the squared distance to
float32, as a share of the squared length.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from tellapart.features import weights
from tellapart.inference.light.sessions import Session
from tellapart.runs.graph_names import graph_path

NAME = "efficientnet-lite2-coco"
SIDE, AT_ONCE, ROUNDS = 260, 8, 8
PRECISIONS = {"float32": "f32", "bfloat16": "bf16"}

Run = Callable[[np.ndarray], np.ndarray]


def by_onnxruntime(path: Path) -> Run:
    session = Session(path)
    return lambda pixels: next(iter(session(pixels=pixels).values()))


def by_openvino(path: Path, precision: str) -> Run:
    import openvino

    settings = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": precision}
    model = openvino.Core().compile_model(str(path), "CPU", settings)
    return lambda pixels: np.asarray(model([pixels])[0])


def main(device: str = "cpu") -> None:
    stored = Path(weights.__path__[0]) / f"{NAME}.safetensors"
    runs = {f"onnxruntime {name}": by_onnxruntime(graph_path(stored, name)) for name in ("float32", "int8")}
    if find_spec("openvino"):  # it cannot read the int8 graph, whose products are onnxruntime's
        exact = graph_path(stored, "float32")
        runs |= {f"OpenVINO {name}": by_openvino(exact, hint) for name, hint in PRECISIONS.items()}
    pixels = np.random.default_rng(0).integers(0, 255, (AT_ONCE, SIDE, SIDE, 3), np.uint8)
    right = runs["onnxruntime float32"](pixels)
    best = dict.fromkeys(runs, float("inf"))
    for turn in range(ROUNDS + 1):  # the first warms up
        for name, run in runs.items():
            before = time.process_time()
            run(pixels)
            if turn:
                best[name] = min(best[name], 1000 * (time.process_time() - before) / AT_ONCE)
    for name, run in runs.items():
        error = float(np.square(run(pixels) - right).sum() / np.square(right).sum())
        print(f"{name}: {best[name]:.1f} ms of processor time per image, error {error:.4f}")


if __name__ == "__main__":
    main()
