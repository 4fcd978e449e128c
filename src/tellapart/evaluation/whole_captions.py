"""Captioners that generate whole captions but do not predict given words: chat models that see images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import nn

from tellapart.core.types import Images
from tellapart.evaluation.chunks import chunks
from tellapart.models.decoding import Decoded
from tellapart.objectives.context import Context

AT_ONCE = 8
"""Images of one call: a chat model has billions of weights, and its beams need memory."""


@runtime_checkable
class WholeCaptioner(Protocol):
    """Generates captions by its own search."""

    def own_beams(self, images: Images, width: int, max_words: int = ...) -> Decoded:
        """`width` captions of each image, best first."""
        ...


def whole_captions(model: WholeCaptioner, context: Context, image_rows: np.ndarray, width: int) -> list[Decoded]:
    """The best caption of each of these images of the pack, batch by batch and in order."""
    assert isinstance(model, nn.Module)
    found = []
    for images in _batches(context, image_rows):
        decoded = model.own_beams(images, width)
        found.append(decoded.select(torch.arange(len(images), device=decoded.tokens.device) * width))
    return found


def _batches(context: Context, image_rows: np.ndarray) -> Iterator[Images]:
    """Images in batches; one by one where the model's processor gives inputs of different shapes."""
    for rows in chunks(image_rows, context.at_once(AT_ONCE)):
        each = [context.batches.images(row) for row in rows.reshape(-1, 1)]
        shapes = {tuple((name, value.shape) for name, value in one.columns.items()) for one in each}
        yield from [_joined(each)] if len(shapes) == 1 else each


def _joined(each: list[Images]) -> Images:
    return Images(
        torch.cat([one.features for one in each]),
        torch.cat([one.mask for one in each]),
        columns={name: torch.cat([one.columns[name] for one in each]) for name in each[0].columns},
    )
