"""Latent target decoding (LTD): a caption's vector must predict the caption's vector in a general sentence encoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from tellapart.core.distributed import global_mean
from tellapart.core.errors import InputError
from tellapart.core.types import Batch
from tellapart.losses import Contrast
from tellapart.losses.reconstruction import CosineReconstruction
from tellapart.models.layers.projection import feed_forward
from tellapart.objectives.context import Context
from tellapart.objectives.extra_loss import ExtraLoss, Joining
from tellapart.objectives.ranking import checked, encode, rank
from tellapart.objectives.recordable import Recordable


class LatentTargetObjective(Recordable):
    """L_con plus LTD's reconstruction (LTD paper, Eqs. 5-9). The decoder reads the caption's vector of length one."""

    def __init__(self, model: nn.Module, loss: nn.Module, decoder: nn.Module, column: str, join: ExtraLoss) -> None:
        super().__init__()
        self.model = checked(model)
        self.loss = loss
        self.decoder = decoder
        self.column = column
        self.reconstruct = CosineReconstruction()
        self.join = join

    def forward(self, batch: Batch, prepared: Any = None) -> dict[str, Tensor]:
        """The loss and values to log."""
        images, texts = encode(self.model, batch)
        ranked = rank(self.model, self.loss, images, texts, batch.owner)
        if self.column not in batch.texts.columns:
            raise InputError(f"The batches have no column '{self.column}'; add it to the stage's sampling.columns.")
        target = batch.texts.columns[self.column].to(texts.vectors.dtype)
        distance = self.reconstruct(self.decoder(texts.vectors), target)  # [C]
        joined = self.join(ranked["loss"], global_mean(distance.sum(), len(distance)), len(distance))
        return {**ranked, "contrast": ranked["loss"].detach(), **joined}


def caption_width(model: nn.Module, objective: str) -> int:
    """The width of a matcher's caption vectors; an error for matchers with one vector per word."""
    width = getattr(model, "width", None)
    if not isinstance(width, int):
        raise InputError(f"{objective} needs one vector per caption, but {type(model).__name__} gives one per word.")
    return width


@dataclass(frozen=True)
class LatentTarget:
    """Ranking with latent target decoding, as dual loss or as constraint (LTD paper, section 3.4)."""

    contrast: Contrast = field(default_factory=lambda: Contrast("info-nce", temperature=0.05))
    """L_con: info-nce, or hardest-negative-hinge for the triplet rows."""
    joining: Joining = field(default_factory=lambda: Joining(bound=0.2))
    """Dual loss or constraint."""
    column: str = "targets-minilm"
    """The pack's column of sentence targets."""
    hidden: int = 1024
    """Width of the decoder's two hidden layers."""

    def build(self, model: nn.Module, context: Context) -> LatentTargetObjective:
        """The objective that trains `model`."""
        width = caption_width(model, "Latent target decoding")
        targets = context.pack.column(self.column)
        if targets.per != "caption" or targets.values.ndim != 2:
            raise InputError(
                f"The column '{self.column}' cannot be a latent target: it does not have one vector per caption."
            )
        decoder = feed_forward((width, self.hidden, self.hidden, targets.values.shape[1]))
        return LatentTargetObjective(model, self.contrast.build(), decoder, self.column, self.joining.build())
