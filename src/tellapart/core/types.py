"""The dataclasses that all packages share.

Shapes: I images, C captions, R feature rows per image (1 for a pooled vector, 49 for a 7x7 grid, up to 36 for regions),
T tokens, D feature width, V words. Masks are boolean; True means keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from tellapart.core.recording import recording

Moved = TypeVar("Moved", bound="Movable")


class Movable:
    """Gives a dataclass of tensors `.to(device)`; tensors in nested dataclasses and mappings move too."""

    def to(self: Moved, device: torch.device | str) -> Moved:
        """A copy with all tensors on the device."""
        changes = {f.name: _move(getattr(self, f.name), device) for f in fields(self)}  # type: ignore[arg-type]
        return replace(self, **changes)  # type: ignore[type-var]


def _move(value: Any, device: torch.device | str) -> Any:
    if isinstance(value, Tensor | Movable):
        return value.to(device)
    if isinstance(value, Mapping):
        return {key: _move(item, device) for key, item in value.items()}
    return value


@dataclass(frozen=True)
class Images(Movable):
    """Input images of a model: feature rows with a mask, or pixels for a model with its own backbone."""

    features: Tensor  # [I, R, D]; R = 1 for one vector per image
    mask: Tensor  # [I, R] bool, True = a real row
    boxes: Tensor | None = None  # [I, R, 4] x1 y1 x2 y2 as fractions of width and height
    pixels: Tensor | None = None  # [I, 3, H, W]
    columns: Mapping[str, Tensor] = field(default_factory=dict)
    """Further columns that a recipe reads, one row per image: detector concepts, scores, …"""

    def __len__(self) -> int:
        return self.features.shape[0]

    def select(self, index: Tensor) -> Images:
        """The images at `index` [N] in that order, which may repeat (one copy per caption, say)."""
        return Images(
            self.features[index],
            self.mask[index],
            None if self.boxes is None else self.boxes[index],
            None if self.pixels is None else self.pixels[index],
            {name: column[index] for name, column in self.columns.items()},
        )

    def pooled(self) -> Tensor:
        """Mean of the real rows [I, D]."""
        if self.mask.device.type == "cpu" and not recording() and bool(self.mask.all()):
            return self.features.mean(1)  # faster: no masked copy of all features
        kept = self.mask.unsqueeze(-1).to(self.features.dtype)  # [I, R, 1]
        return (self.features * kept).sum(1) / kept.sum(1).clamp(min=1)


@dataclass(frozen=True)
class Texts(Movable):
    """Captions as token ids: START w1 … wn END, then PAD. `lengths` counts START and END."""

    tokens: Tensor  # [C, T] long
    lengths: Tensor  # [C] long
    columns: Mapping[str, Tensor] = field(default_factory=dict)
    """One row per caption: `nouns` [C, T] bool (aligned with tokens), `targets` [C, S], attention to distil, …"""

    def __len__(self) -> int:
        return self.tokens.shape[0]

    def select(self, index: Tensor) -> Texts:
        """The captions at `index` [N] in that order."""
        return Texts(
            self.tokens[index],
            self.lengths[index],
            {name: column[index] for name, column in self.columns.items()},
        )

    @property
    def mask(self) -> Tensor:
        """[C, T] bool, True for tokens, START and END included; False for PAD."""
        steps = torch.arange(self.tokens.shape[1], device=self.tokens.device)
        return steps.unsqueeze(0) < self.lengths.unsqueeze(1)


@dataclass(frozen=True)
class Batch(Movable):
    """Images, each once, and their captions: caption j describes image `owner[j]`.

    Captions of one image are never each other's negatives: losses read that from `owner`. A batch of unpaired
    sentences has no images and `owner` is all -1; a batch of images alone has no captions.
    """

    images: Images
    texts: Texts
    owner: Tensor  # [C] long, row of `images`
    image_rows: Tensor  # [I] long, rows of the images in the pack
    caption_rows: Tensor  # [C] long, rows of the captions in the pack

    def paired_images(self) -> Images:
        """The image of each caption: [C, …]."""
        return self.images.select(self.owner)


@dataclass(frozen=True)
class Encoded(Movable):
    """Images or captions encoded by a matcher: one vector each, or one per region or word with a mask."""

    vectors: Tensor  # [N, E] or [N, L, E]
    mask: Tensor | None = None  # [N, L] bool for local vectors
    counted: Tensor | None = None  # [N, L] bool: the vectors inside the mask that count in a pair's score; None: all

    def __post_init__(self) -> None:
        if self.counted is not None and self.mask is None:
            raise ValueError("`counted` needs local vectors with a mask.")

    def __len__(self) -> int:
        return self.vectors.shape[0]

    def select(self, index: Tensor) -> Encoded:
        """The items at `index` [N] in that order."""
        mask = None if self.mask is None else self.mask[index]
        return Encoded(self.vectors[index], mask, None if self.counted is None else self.counted[index])

    def of_counted(self) -> Encoded:
        """The counted vectors alone."""
        if self.counted is None or self.mask is None:
            return self
        return Encoded(self.vectors, self.mask & self.counted)


State = dict[str, Tensor]
"""A captioner's state between words: named tensors whose first dimension is the hypothesis, so that decoding can
select, repeat and reorder hypotheses without knowing the model."""


@dataclass(frozen=True)
class Step:
    """The result of reading one word: scores of the next word, the new state, and the attention."""

    logits: Tensor  # [N, V]
    state: State
    attention: Tensor | None = None  # [N, R] weights over feature rows, without the share of a sentinel


@dataclass(frozen=True)
class Forced:
    """A captioner's predictions for given captions: row t predicts token t + 1."""

    logits: Tensor  # [C, T - 1, V]
    attention: Tensor | None = None  # [C, T - 1, R]
