"""Ranking: any matcher with any ranking loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from tellapart.core.distributed import gather, gather_owner
from tellapart.core.errors import InputError
from tellapart.core.protocols import Matcher
from tellapart.core.types import Batch, Encoded
from tellapart.losses import Contrast
from tellapart.losses.multimodal_contrast import MultimodalContrast
from tellapart.losses.negatives import positives
from tellapart.models.matchers.scores import cosine
from tellapart.objectives.context import Context
from tellapart.objectives.recordable import Recordable


class RankingObjective(Recordable):
    """Encodes a batch, gathers it across processes, scores it and applies the ranking loss."""

    def __init__(self, model: nn.Module, loss: nn.Module) -> None:
        super().__init__()
        self.model = checked(model)
        self.loss = loss

    def forward(self, batch: Batch, prepared: Any = None) -> dict[str, Tensor]:
        """The loss and values to log."""
        images, texts = encode(self.model, batch)
        return rank(self.model, self.loss, images, texts, batch.owner)


def checked(model: nn.Module) -> nn.Module:
    """The model; an error if it is not a matcher."""
    if not isinstance(model, Matcher):
        raise InputError(f"A ranking objective trains a matcher, but {type(model).__name__} is not a matcher.")
    return model


def encode(model: nn.Module, batch: Batch) -> tuple[Encoded, Encoded]:
    """The encoded images and captions of a batch."""
    return model.encode_image(batch.images), model.encode_text(batch.texts)  # type: ignore[operator]


def rank(model: nn.Module, loss: nn.Module, images: Encoded, texts: Encoded, owner: Tensor) -> dict[str, Tensor]:
    """The ranking loss of encoded images and captions, and values to log.

    The loss gets one score matrix [I, C] over all processes, and the owner [C] of each caption.
    """
    owner = gather_owner(owner, len(images))
    images, texts = gather(images), gather(texts)
    scores: Tensor = model.score(images, texts)  # type: ignore[operator]  # [I, C]
    if isinstance(loss, MultimodalContrast):
        value = loss(scores, owner, _within(images), _within(texts))
    else:
        value = loss(scores, owner)
    seen = scores.detach()
    return {"loss": value, "positive": positives(seen, owner).mean(), "score": seen.mean()}


def _within(encoded: Encoded) -> Tensor:
    """Scores within one modality [N, N]: MVN contrasts images with images and captions with captions."""
    if encoded.vectors.dim() != 2:
        raise InputError(
            "The multimodal loss needs one vector per image and per caption; this matcher gives local vectors."
        )
    return cosine(encoded.vectors, encoded.vectors)


@dataclass(frozen=True)
class Ranking:
    """Trains a matcher with a ranking loss."""

    contrast: Contrast = field(default_factory=Contrast)
    """The ranking loss with its margin, temperature and reduction."""

    def build(self, model: nn.Module, context: Context) -> RankingObjective:
        """The objective that trains `model`."""
        return RankingObjective(model, self.contrast.build())
