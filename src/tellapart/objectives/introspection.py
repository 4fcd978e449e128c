"""Introspective learning (IL), a baseline of the contrastive captioning paper, Table 4.

A caption must be likelier given its own image than given one other image, by a margin (Mao et al. 2016, max-margin MMI;
Vedantam et al. 2017). Unlike CL, IL has no reference model, and each image's other image never changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor, nn

from tellapart.core.distributed import global_mean
from tellapart.core.errors import InputError
from tellapart.core.types import Batch, Images
from tellapart.data.sampling import split_rows
from tellapart.models.captioners.teacher_forcing import as_captioner
from tellapart.models.decoding import log_prob
from tellapart.objectives.context import Context
from tellapart.objectives.recordable import Recordable
from tellapart.text.vocabulary import PAD


@dataclass(frozen=True)
class Introspection:
    """IL: -ln p(c|I) + weight * max(0, margin - ln p(c|I) + ln p(c|I')), with I' fixed for each I."""

    margin: float = 1.0
    """Nats by which a caption must be likelier with its own image."""
    weight: float = 1.0
    """Weight of the comparison."""
    likelihood: float = 1.0
    """Weight of the likelihood; 0: the comparison alone."""
    seed: int = 0
    """Seed of the choice of other images."""

    def build(self, model: nn.Module, context: Context) -> IntrospectionObjective:
        """The objective that trains `model`."""
        return IntrospectionObjective(self, model, context)


class IntrospectionObjective(Recordable):
    """See `Introspection`."""

    def __init__(self, config: Introspection, model: nn.Module, context: Context) -> None:
        super().__init__()
        self.config, self.context = config, context
        self.model = as_captioner(model)
        images = split_rows(context.pack, context.train_split).images
        if len(images) < 2:
            raise InputError("Introspective learning needs at least two images in the training split.")
        # The next image in a random cycle through all images: never the image itself, and each one exactly once.
        cycle = np.random.default_rng(config.seed).permutation(images)
        others = np.full(len(context.pack.images), cycle[0], dtype=np.int64)
        others[cycle] = np.roll(cycle, -1)
        self.others = others

    def prepare(self, batch: Batch) -> tuple[Images]:
        """The fixed other image of each image."""
        return (self.context.batches.images(self.others[batch.image_rows.cpu().numpy()]),)

    def forward(self, batch: Batch, prepared: tuple[Images] | None = None) -> dict[str, Tensor]:
        """The loss and values to log."""
        (others,) = self.prepare(batch) if prepared is None else prepared
        tokens = batch.texts.tokens
        own = log_prob(self.model, batch.images, tokens, batch.owner)  # [C] ln p(c|I)
        other = log_prob(self.model, others, tokens, batch.owner)  # [C] ln p(c|I')
        short = (self.config.margin - own + other).clamp(min=0)
        words = (tokens[:, 1:] != PAD).sum()
        likelihood = global_mean(-own.sum(), words)
        comparison = global_mean(short.sum(), short.numel())
        loss = self.config.likelihood * likelihood + self.config.weight * comparison
        return {"loss": loss, "likelihood": likelihood.detach(), "short": (short > 0).float().mean()}
