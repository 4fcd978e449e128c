"""Learning to look while learning to speak: attention supervision (grounded captioning paper, Eqs. 15 and 16).

The captioner learns from true sentences as ever; at nouns, its attention is also drawn to where a frozen matcher looks,
or to true boxes. Nothing of it is left when training ends: the captioner is as fast as one that learned alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from tellapart.core.distributed import global_mean
from tellapart.core.errors import InputError
from tellapart.core.types import Batch
from tellapart.data.sampling import LATER
from tellapart.losses.attention import ATTENTION_LOSSES
from tellapart.objectives.attention_supervision import AttentionTargets, BoxAttention, TeacherAttention
from tellapart.objectives.context import Context
from tellapart.objectives.likelihood import Likelihood
from tellapart.objectives.recordable import Recordable

BOXES = "boxes"
MEANS = ("words", "supervised")
FILLED_TO = 128
"""Supervised words of a batch are filled up to a multiple of this, so that few numbers of them occur."""


@dataclass(frozen=True)
class Distillation:
    """Likelihood plus lambda_1 times a loss on the attention at nouns."""

    teacher: str = "pos-scan"
    """A matcher with word-to-region attention: an earlier stage's name or a run folder. `boxes`: true boxes instead."""
    loss: str = "kl"
    """kl (Eq. 15, KL(beta || alpha)), kl-teacher-first (KL(alpha || beta), what the released code computes), nll (the
    best region's log-likelihood), any-region (Eq. 16), any-region-mean (Eq. 16 over the number of right regions, as
    released)."""
    weight: float = 0.1
    """lambda_1; 0 leaves plain likelihood."""
    mean_over: str = "words"
    """The attention's loss is added up and divided by the number of all words (Eqs. 15, 16), or of the supervised ones
    (as released, where the same lambda_1 weighs about three times as much)."""
    stored: bool = True
    """Ask the teacher about the training captions once and keep its attention; else ask it at every step."""
    likelihood: Likelihood = field(default_factory=Likelihood)
    """How sentences are learned."""
    among: str = field(default="all", metadata=LATER)
    """Regions that a matcher may point at: all; detected (not those that fill up their number); or sure (its attention
    times the detector's score)."""

    def build(self, model: nn.Module, context: Context) -> DistillationObjective:
        return DistillationObjective(self, model, context)


class DistillationObjective(Recordable):
    def __init__(self, config: Distillation, model: nn.Module, context: Context) -> None:
        super().__init__()
        if config.loss not in ATTENTION_LOSSES:
            raise InputError(
                f"There is no attention loss '{config.loss}'; choose one of {', '.join(ATTENTION_LOSSES)}."
            )
        if config.mean_over not in MEANS:
            raise InputError(f"The attention's loss is averaged over {' or '.join(MEANS)}, not '{config.mean_over}'.")
        if config.teacher == BOXES and config.among != "all":
            raise InputError(
                f"among={config.among} is for a matcher's attention; true boxes are right wherever they are."
            )
        self.config, self.model = config, model
        self.likelihood = config.likelihood.build(model, context)
        self.loss = ATTENTION_LOSSES[config.loss]
        self.attention: TeacherAttention | BoxAttention
        self.attention = (
            BoxAttention(context)
            if config.teacher == BOXES
            else TeacherAttention(context, config.teacher, config.stored, config.among)
        )

    def prepare(self, batch: Batch) -> tuple[AttentionTargets]:
        self.likelihood.prepare(batch)
        return (self.attention(batch, self.training).filled(FILLED_TO),)

    def phase(self) -> float:
        return self.likelihood.phase()

    def forward(self, batch: Batch, prepared: tuple[AttentionTargets] | None = None) -> dict[str, Tensor]:
        (targets,) = self.prepare(batch) if prepared is None else prepared
        found = self.likelihood.predict(batch)
        if found.attention is None:
            raise InputError(f"{type(self.model).__name__} looks at nothing, so its attention cannot be supervised.")
        words = self.likelihood.words_loss(found)
        looks = self.attention_losses(found.attention.float(), targets).masked_fill(~targets.real, 0.0)  # [M]
        supervised = targets.right.any(-1) if self.config.loss.startswith("any-region") else targets.real
        look = global_mean(looks.sum(), (found.mask if self.config.mean_over == "words" else supervised).sum())
        return {"loss": words + self.config.weight * look, "words": words, "attention": look}

    def attention_losses(self, attention: Tensor, targets: AttentionTargets) -> Tensor:
        """[M] from the captioner's attention [C, T - 1, R]. A captioner that may look away (a visual sentinel) has that
        share as one more place, where the teacher never looks."""
        beta = attention[targets.sentence, targets.place]  # [M, R]
        away = (1 - beta.sum(-1, keepdim=True)).clamp(min=0)
        beta = torch.cat([beta, away], -1)  # [M, R + 1]
        wanted = targets.right if self.config.loss.startswith("any-region") else targets.weights
        return self.loss(beta, nn.functional.pad(wanted, (0, 1)))
