"""Exports the model of a run folder: ONNX graphs beside its weights, so that photos need no torch.

RUN/start.onnx, step.onnx         a captioner's graphs; -int8.onnx: with products of 8 bits
RUN/image.onnx, text.onnx         a matcher's graphs, in float32: rounding the activations of its image side costs R@sum
RUN/text-int8.onnx                texts with products of 8 bits, to judge captions by; needs captions to calibrate on;
                                  not for a GRU
RUN/exported.json                 what the graphs do not say themselves
BACKBONE.onnx, -int8.onnx         beside the backbone's weights; PP-LCNetV2 in float32 alone
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.files import write_json
from tellapart.core.types import Images
from tellapart.exported.calibration import Watched, watch_inputs, watch_outputs
from tellapart.exported.captioner_graphs import start_graph, step_graph
from tellapart.exported.efficientnet_export import export_backbone
from tellapart.exported.graph import Graph, StoredWeights
from tellapart.exported.linear_layers import FloatLinears, Int8Linears, Linears
from tellapart.exported.matcher_graphs import image_graph, text_graph
from tellapart.exported.pp_lcnet_export import export_pp_lcnet
from tellapart.exported.ranges import Range
from tellapart.features.backbones import Backbone, load_backbone
from tellapart.features.pp_lcnet import PPLCNetV2
from tellapart.features.weights import WEIGHTS
from tellapart.models.captioners.transformer import Transformer, TransformerCaptioner
from tellapart.models.decoding import Constraints, bad_endings, beams
from tellapart.models.matchers.dual_encoder import DualEncoder, DualEncoderModel
from tellapart.runs.graph_names import graph_path
from tellapart.runs.run import Run, open_run
from tellapart.runs.run_features import backbone_path
from tellapart.runs.texts import as_texts

CALIBRATED_AT_ONCE = 16


def export_run(
    folder: Path | str, squares: Sequence[np.ndarray], shared: bool = False, captions: Sequence[str] = ()
) -> list[Path]:
    """Write the graphs of a run and of its backbone; squares [S, S, 3] are training images to calibrate on.

    A matcher on PP-LCNetV2 needs no squares: none of its graphs of images is in int8.

    shared: leave the graphs of a backbone that comes with the package as they are.
    captions: training captions, to calibrate a matcher's texts on; without them, and with a GRU, it has no
        text-int8.onnx.
    """
    run = open_run(folder)
    described, features = run.model_stage.model, run.data.get("features")
    if features is None or features["kind"] != "grid" or features["resize"] != "squash":
        raise InputError(f"{run.folder} cannot be exported: it does not read the grid of whole images.")
    name = str(features["backbone"])
    inside = WEIGHTS / f"{name}.safetensors"
    weights = inside if inside.is_file() else Path(backbone_path(name, run.folder))
    if not weights.is_file():
        raise InputError(f"{run.folder} cannot be exported: the weights of its backbone {name} are in no file of ours.")
    backbone = load_backbone(name if weights == inside else str(weights))
    exact = isinstance(backbone.network, PPLCNetV2)
    pixels = [] if exact and isinstance(described, DualEncoder) else list(_batches(squares))
    if shared and inside.is_file():
        written = []
    else:
        written = export_pp_lcnet(backbone, weights) if exact else export_backbone(backbone, weights, pixels)
    if isinstance(described, DualEncoder) and isinstance(run.model, DualEncoderModel):
        return written + _export_matcher(run, described, run.model, captions)
    if isinstance(described, Transformer) and isinstance(run.model, TransformerCaptioner):
        return written + _export_captioner(run, described, run.model, backbone, pixels)
    raise InputError(
        f"{run.folder} is a {run.recipe.name} run; only a transformer captioner and a dual encoder can be exported."
    )


def _export_matcher(run: Run, described: DualEncoder, model: DualEncoderModel, captions: Sequence[str]) -> list[Path]:
    weights = StoredWeights(run.folder / "model.safetensors")
    features = run.data["features"]
    graphs = {
        "image": image_graph(weights, FloatLinears(), int(features["rows"]), int(features["width"])),
        "text": text_graph(weights, FloatLinears(), described),
    }
    facts = {"width": model.width, "scale": float(model.scale().detach())}
    written = _saved(run, graphs, "float32", facts)
    graph_path(run.folder / "text", "int8").unlink(missing_ok=True)  # one of other weights
    if not captions or described.text == "gru":
        return written
    rounded = text_graph(weights, Int8Linears(text_ranges(run, model, captions)), described)
    return written + _saved(run, {"text": rounded}, "int8", facts)


@torch.no_grad()
def text_ranges(run: Run, model: DualEncoderModel, captions: Sequence[str]) -> dict[str, Range]:
    """The ranges of the inputs of linear layers while captions are read, one at a time: padding is in no range."""
    watched = Watched(clipped=0)
    parts = {name: module for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    stop = watch_inputs(watched, parts)
    for caption in captions:
        model.encode_text(as_texts(run, [caption], allow_unknown=True))
    stop()
    return watched.ranges()


def _export_captioner(
    run: Run, described: Transformer, model: TransformerCaptioner, backbone: Backbone, pixels: list[Tensor]
) -> list[Path]:
    weights = StoredWeights(run.folder / "model.safetensors")
    features = run.data["features"]
    rows, width = int(features["rows"]), int(features["width"])
    ranges = captioner_ranges(run, model, (cells_of(backbone, batch) for batch in pixels))

    def graphs(make: Any) -> dict[str, Graph]:
        return {
            "start": start_graph(weights, make(), described, rows, width),
            "step": step_graph(weights, make(), described, rows),
        }

    def int8() -> Linears:
        return Int8Linears(ranges)

    facts = {"words": len(run.vocabulary)}
    return _saved(run, graphs(FloatLinears), "float32", facts) + _saved(run, graphs(int8), "int8", facts)


@torch.no_grad()
def captioner_ranges(run: Run, model: TransformerCaptioner, cells: Iterable[Tensor]) -> dict[str, Range]:
    """The ranges of the inputs of linear layers while captions of images are searched for."""
    watched = Watched(clipped=0)
    linear = {name: module for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    stops = [watch_inputs(watched, linear), watch_outputs(watched, {"words": model.decoder_norm})]
    constraints = Constraints(bad_endings=bad_endings(run.vocabulary))
    for batch in cells:
        mask = torch.ones(batch.shape[:2], dtype=torch.bool)
        beams(model, Images(batch, mask), 3, constraints=constraints)
    for stop in stops:
        stop()
    return watched.ranges()


@torch.no_grad()
def cells_of(backbone: Backbone, pixels: Tensor) -> Tensor:
    """Cells [I, R, D] of pixels [I, 3, S, S], rounded to float16 as features on disk are."""
    return backbone.map(pixels).flatten(2).transpose(1, 2).half().float()


def _batches(squares: Sequence[np.ndarray]) -> Iterable[Tensor]:
    if not squares:
        raise InputError("Calibrating needs at least one image; give a folder of training images.")
    for first in range(0, len(squares), CALIBRATED_AT_ONCE):
        yield torch.from_numpy(np.stack(squares[first : first + CALIBRATED_AT_ONCE])).permute(0, 3, 1, 2)


def _saved(run: Run, graphs: dict[str, Graph], precision: str, facts: dict[str, Any]) -> list[Path]:
    paths = []
    for name, graph in graphs.items():
        paths.append(graph_path(run.folder / name, precision))
        graph.save(paths[-1])
    write_json(run.folder / "exported.json", facts)
    return paths
