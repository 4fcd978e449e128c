"""A captioner of transformers as two ONNX graphs: image.onnx to rows of the image, next.onnx to the next piece.

A greedy caption reads `first`, then the piece with the largest value of next.onnx, until that is `last`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.files import write_json
from tellapart.evaluation.captions import MAX_WORDS
from tellapart.exported.hub_graphs import write_graph
from tellapart.models.captioners.pretrained import PretrainedCaptionerModel
from tellapart.models.hub.reading import needed_processor

LENGTHS = (1, 4, 9)
"""Prefixes that the graphs are compared with torch on: a graph may have frozen the one that it was traced with."""
NEAR = 1e-3


class Rows(nn.Module):
    """What the image processor gives [I, 3, S, S] -> rows [I, R, D]."""

    def __init__(self, model: PretrainedCaptionerModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixel_values: Tensor) -> Tensor:
        return self.model.family.rows(self.model.model, pixel_values)


class NextPiece(nn.Module):
    """Pieces so far [N, t] and the rows of their images [N, R, D] -> logits of the next piece [N, P]."""

    def __init__(self, model: PretrainedCaptionerModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, pieces: Tensor, rows: Tensor) -> Tensor:
        inside = self.model.model
        if not hasattr(inside, "decoder"):
            return self.model.family.read(inside, rows, pieces, False).logits[:, -1]
        steps = torch.arange(pieces.shape[1])  # decoders make their own mask for the length that is traced alone
        later = (steps.unsqueeze(0) > steps.unsqueeze(1)).float() * torch.finfo(torch.float32).min  # [t, t]
        seen = later.expand(pieces.shape[0], 1, -1, -1)
        found = inside.decoder(input_ids=pieces, attention_mask=seen, encoder_hidden_states=rows, use_cache=False)
        logits: Tensor = found.logits[:, -1]
        return logits


def export_hub_captioner(model: PretrainedCaptionerModel, folder: Path) -> None:
    """Write the graphs, tokenizer, image processor and exported.json into a folder."""
    kind = str(model.model.config.model_type)
    if not model.family.attends:
        raise InputError(
            f"A model of kind {kind} reads image and words in one sequence, whose mask no graph keeps; BLIP and "
            "ViT-GPT2 can be exported."
        )
    processor = needed_processor(model.reading, "This model")
    model = model.cpu().float().eval()
    pixels = processor([np.full((64, 64, 3), grey, np.uint8) for grey in (90, 160)])["pixel_values"]
    with torch.no_grad():
        rows = Rows(model)(pixels)
    pieces = torch.full((2, 7), model.first)
    model.reading.save(folder, model.model.config)
    write_graph(Rows(model), {"pixel_values": pixels}, folder / "image.onnx", {"pixel_values": {0: "images"}}, "rows")
    free = {"pieces": {0: "captions", 1: "length"}, "rows": {0: "captions"}}
    write_graph(NextPiece(model), {"pieces": pieces, "rows": rows}, folder / "next.onnx", free, "logits")
    _compare(model, folder, rows)
    write_json(folder / "exported.json", {"first": model.first, "last": model.last, "most": MAX_WORDS})


def _compare(model: PretrainedCaptionerModel, folder: Path, rows: Tensor) -> None:
    """Raise an InputError where the graph does not give what torch gives for prefixes of other lengths."""
    import onnxruntime

    session = onnxruntime.InferenceSession(folder / "next.onnx")
    for length in LENGTHS:
        pieces = (torch.arange(length) * 7 % model.pieces).expand(len(rows), length).contiguous()
        with torch.no_grad():
            expected = NextPiece(model)(pieces, rows).numpy()
        (found,) = session.run(None, {"pieces": pieces.numpy(), "rows": rows.numpy()})
        if float(np.abs(found - expected).max()) > NEAR * max(1.0, float(np.abs(expected).max())):
            raise InputError(
                f"A model of kind {model.model.config.model_type} cannot be exported as ONNX: for a prefix of {length} "
                "pieces the graph gives other values than torch."
            )
