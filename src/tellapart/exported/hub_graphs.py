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
from tellapart.models.hub.reading import needed_processor
from tellapart.models.matchers.pretrained import PretrainedModel
from tellapart.models.matchers.scores import unit

OPSET = 18


class ImageSide(nn.Module):
    """What the image processor gives [I, 3, S, S] -> vectors [I, E]."""

    def __init__(self, model: PretrainedModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixel_values: Tensor) -> Tensor:
        nothing = pixel_values.new_zeros(1, 1, 0)
        images = Images(nothing, pixel_values.new_ones(1, 1).bool(), columns={"pixel_values": pixel_values})
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
    if set(inputs) != {"pixel_values"}:
        raise InputError("This model reads images as patches of several sizes, which cannot be exported as one graph.")
    model.reading.save(folder, model.model.config)
    model = model.cpu().float().eval()
    pixels = inputs["pixel_values"].repeat(2, 1, 1, 1)
    _write(ImageSide(model), {"pixel_values": pixels}, folder / "image.onnx", {"pixel_values": {0: "images"}})
    length = model.text_length if model.full_length else 7
    pieces = torch.full((2, length), model.reading.vocabulary.last[-1] if model.reading.vocabulary.last else 0)
    given = {"input_ids": pieces} | ({} if model.full_length else {"attention_mask": torch.ones_like(pieces)})
    free = {0: "texts"} if model.full_length else {0: "texts", 1: "pieces"}
    _write(TextSide(model), given, folder / "text.onnx", dict.fromkeys(given, free))
    padding = {"padding": "max_length", "max_length": length} if model.full_length else {"padding": True}
    scale = float(model.scale())
    write_json(folder / "exported.json", {"width": model.width, "scale": scale, "tokenizer": padding})


def _write(side: nn.Module, inputs: dict[str, Tensor], path: Path, free: dict[str, dict[int, str]]) -> None:
    """Trace a module into a graph; `free` names the axes of each input that may have any length."""
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # the exporter that needs no further package is called old
            torch.onnx.export(
                side,
                tuple(inputs.values()),
                str(path),
                input_names=list(inputs),
                output_names=["vectors"],
                dynamic_axes={**free, "vectors": {0: next(iter(free.values()))[0]}},
                opset_version=OPSET,
                dynamo=False,
            )
    except (RuntimeError, ValueError, TypeError, ImportError) as error:
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"This model cannot be exported as ONNX ({why}).") from error
