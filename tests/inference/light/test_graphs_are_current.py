"""The stored graphs point to the stored weights: exporting again gives the same graphs."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from tellapart.features.weights import WEIGHTS
from tellapart.runs.bundled import MODELS, NAMES

pytest.importorskip("onnx")

GRAPHS = (
    "captioner/start.onnx",
    "captioner/step.onnx",
    "matcher/image.onnx",
    "matcher/text.onnx",
    "chooser/image.onnx",
    "chooser/text.onnx",
    "chooser/backbone.onnx",
)


def test_exporting_again_gives_the_same_float_graphs(tmp_path: Path) -> None:
    import shutil

    from tellapart.exported.export import export_run

    digest = {}
    for name in NAMES:
        shutil.copytree(MODELS / name, tmp_path / name)
        (tmp_path / name / "exported.json").unlink()
    before = hashlib.sha256((WEIGHTS / "efficientnet-lite2-coco-int8.onnx").read_bytes()).digest()
    square = np.random.default_rng(0).integers(0, 255, (260, 260, 3), np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tellapart.exported.export.export_backbone", lambda *given: [])
        for name in NAMES:
            for path in export_run(tmp_path / name, [square]):
                digest[f"{name}/{path.name}"] = path.read_bytes()
    assert hashlib.sha256((WEIGHTS / "efficientnet-lite2-coco-int8.onnx").read_bytes()).digest() == before
    for name in GRAPHS:
        assert digest[name] == (MODELS / name).read_bytes(), f"{name} is stale; export the run again"
    for name in NAMES:
        assert (tmp_path / name / "exported.json").read_text() == (MODELS / name / "exported.json").read_text()
