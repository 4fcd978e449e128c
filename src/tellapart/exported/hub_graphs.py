"""A dual encoder of transformers as two ONNX graphs: image.onnx and text.onnx, each to vectors of length one."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.files import write_json
from tellapart.core.types import Images
from tellapart.exported.patch_positions import traceable_positions
from tellapart.models.hub.reading import needed_processor
from tellapart.models.matchers.pretrained import PretrainedModel
from tellapart.models.matchers.scores import unit

OPSET = 18
PATCHES = ("pixel_values", "pixel_attention_mask", "spatial_shapes")
"""Inputs of the image side; of models that read squares, the first alone."""


class ImageSide(nn.Module):
    """What the image processor gives, pixels [I, 3, S, S] or patches [I, N, P] with a mask and shapes -> vectors
    [I, E]."""

    def __init__(self, model: PretrainedModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixel_values: Tensor, *patches: Tensor) -> Tensor:
        nothing = pixel_values.new_zeros(1, 1, 0)
        columns = {"pixel_values": pixel_values, **dict(zip(PATCHES[1:], patches))}
        images = Images(nothing, pixel_values.new_ones(1, 1).bool(), columns=columns)
        return self.model.encode_image(images).vectors


class TextSide(nn.Module):
    """What the tokenizer gives [C, T] -> vectors [C, E]."""

    def __init__(self, model: PretrainedModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        given = {} if attention_mask is None else {"attention_mask": attention_mask}
        return unit(self.model.text_head(self.model.text_features(input_ids=input_ids, **given)))


def export_hub_matcher(model: PretrainedModel, folder: Path) -> None:
    """Write the graphs, tokenizer, image processor and exported.json into a folder."""
    processor = needed_processor(model.reading, "This model")
    inputs = processor([np.full((64, 64, 3), 127, np.uint8)])
    model.reading.save(folder, model.model.config)
    model = model.cpu().float().eval()
    shown = {name: torch.cat([inputs[name], inputs[name]]) for name in PATCHES if name in inputs}
    with traceable_positions(model.model.vision_model):
        write_graph(ImageSide(model), shown, folder / "image.onnx", {name: {0: "images"} for name in shown})
    length = model.text_length if model.full_length else 7
    pieces = torch.full((2, length), model.reading.vocabulary.last[-1] if model.reading.vocabulary.last else 0)
    given = {"input_ids": pieces} | ({} if model.full_length else {"attention_mask": torch.ones_like(pieces)})
    free = {0: "texts"} if model.full_length else {0: "texts", 1: "pieces"}
    write_graph(TextSide(model), given, folder / "text.onnx", dict.fromkeys(given, free))
    padding = "max_length" if model.full_length else True
    tokenizer = {"padding": padding, "truncation": True, "max_length": model.text_length}
    write_json(folder / "exported.json", {"width": model.width, "scale": float(model.scale()), "tokenizer": tokenizer})


def write_graph(
    side: nn.Module, inputs: dict[str, Tensor], path: Path, free: dict[str, dict[int, str]], output: str = "vectors"
) -> None:
    """Trace a module into a graph; `free` names the axes of each input that may have any length."""
    side.eval()  # afterwards the module has the mode that it had before, and a new one trains
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # the exporter that needs no further package is called old
            torch.onnx.export(
                side,
                tuple(inputs.values()),
                str(path),
                input_names=list(inputs),
                output_names=[output],
                dynamic_axes={**free, output: {0: next(iter(free.values()))[0]}},
                opset_version=OPSET,
                dynamo=False,
            )
    except (RuntimeError, ValueError, TypeError, ImportError) as error:
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"This model cannot be exported as ONNX ({why}).") from error
