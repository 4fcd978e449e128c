"""Captioners of `transformers` behind one interface: rows of an image, and the next piece after a prefix.

Each family encodes an image once into rows [I, R, D]; its decoder then reads a prefix of pieces [N, t] and the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.models.hub.roll_out import roll_out


@dataclass(frozen=True)
class Read:
    """What a decoder predicts after each piece of a prefix."""

    logits: Tensor  # [N, t, V]
    attention: Tensor | None = None  # [N, t, R] over the rows of the image, rolled out


@dataclass(frozen=True)
class Family:
    """How the models of one architecture are read."""

    loader: str
    """The class of transformers."""
    rows: Callable[[Any, Tensor], Tensor]
    """(model, pixel_values) -> rows [I, R, D]."""
    read: Callable[[Any, Tensor, Tensor, bool], Read]
    """(model, rows [N, R, D], prefix [N, t], attention wanted) -> predictions."""
    pieces: Callable[[Any], tuple[int, int]]
    """configuration -> (first piece, last piece)."""
    attends: bool = True
    prepare: Callable[[Any], None] = lambda model: None


def _blip_rows(model: Any, pixels: Tensor) -> Tensor:
    rows: Tensor = model.vision_model(pixel_values=pixels).last_hidden_state
    return rows


def _blip_read(model: Any, rows: Tensor, prefix: Tensor, attention: bool) -> Read:
    found = model.text_decoder(
        input_ids=prefix, encoder_hidden_states=rows, use_cache=False, output_attentions=attention, is_decoder=True
    )
    return Read(found.logits, roll_out(found.attentions, found.cross_attentions) if attention else None)


def _encoder_decoder_rows(model: Any, pixels: Tensor) -> Tensor:
    rows: Tensor = model.encoder(pixel_values=pixels).last_hidden_state
    if rows.dim() == 4:
        rows = rows.flatten(2).transpose(1, 2)
    projection = getattr(model, "enc_to_dec_proj", None)
    return rows if projection is None else projection(rows)


def _encoder_decoder_read(model: Any, rows: Tensor, prefix: Tensor, attention: bool) -> Read:
    found = model.decoder(input_ids=prefix, encoder_hidden_states=rows, use_cache=False, output_attentions=attention)
    return Read(found.logits, roll_out(found.attentions, found.cross_attentions) if attention else None)


def _encoder_decoder_pieces(config: Any) -> tuple[int, int]:
    decoder = config.decoder
    first = next((value for value in (config.decoder_start_token_id, decoder.decoder_start_token_id
                                      if hasattr(decoder, "decoder_start_token_id") else None,
                                      decoder.bos_token_id) if value is not None), None)  # fmt: skip
    last = config.eos_token_id if config.eos_token_id is not None else decoder.eos_token_id
    if first is None or last is None:
        raise InputError(
            "This model's configuration names no first or last piece (decoder_start_token_id, eos_token_id)."
        )
    return int(first), int(last)


class _SeenEncoder:
    """Gives an image encoder of GIT the rows of images that were encoded before: [I, 1, R, D] passes through."""

    def forward(self, pixel_values: Tensor, **options: Any) -> Any:
        if pixel_values.shape[1] == 1:
            return SimpleNamespace(last_hidden_state=pixel_values[:, 0])
        return super().forward(pixel_values, **options)  # type: ignore[misc]


def _git_prepare(model: Any) -> None:
    encoder = model.git.image_encoder
    encoder.__class__ = type(f"Seen{type(encoder).__name__}", (_SeenEncoder, type(encoder)), {})


def _git_rows(model: Any, pixels: Tensor) -> Tensor:
    rows: Tensor = model.git.image_encoder(pixels).last_hidden_state
    return rows


def _git_read(model: Any, rows: Tensor, prefix: Tensor, attention: bool) -> Read:
    found = model(input_ids=prefix, pixel_values=rows.unsqueeze(1), use_cache=False)
    return Read(found.logits[:, rows.shape[1] :])  # predictions after the image's own pieces are not used


FAMILIES: dict[str, Family] = {
    "blip": Family(
        "BlipForConditionalGeneration",
        _blip_rows,
        _blip_read,
        lambda config: (int(config.text_config.bos_token_id), int(config.text_config.sep_token_id)),
    ),
    "git": Family(
        "GitForCausalLM",
        _git_rows,
        _git_read,
        lambda config: (int(config.bos_token_id), int(config.eos_token_id)),
        attends=False,
        prepare=_git_prepare,
    ),
    "vision-encoder-decoder": Family(
        "VisionEncoderDecoderModel", _encoder_decoder_rows, _encoder_decoder_read, _encoder_decoder_pieces
    ),
}
"""By `model_type` of the configuration."""


def patches(rows: int) -> tuple[int, int]:
    """(class rows before the patches, patches per side) of so many rows of a vision transformer.

    >>> patches(197), patches(49)
    ((1, 14), (0, 7))
    """
    side = int(rows**0.5)
    return rows - side * side, side


def patch_boxes(rows: int) -> Tensor:
    """Boxes [R, 4] of the rows in fractions of the image; those of class rows are the whole image."""
    extra, side = patches(rows)
    steps = torch.arange(side) / max(side, 1)
    y, x = torch.meshgrid(steps, steps, indexing="ij")
    cells = torch.stack([x, y, x + 1 / max(side, 1), y + 1 / max(side, 1)], -1).view(-1, 4)
    return torch.cat([torch.tensor([[0.0, 0.0, 1.0, 1.0]]).expand(extra, -1), cells])
