"""Attention supervision of a captioner (grounded captioning paper, Eqs. 15 and 16).

The captioner learns from true captions by likelihood. At nouns, its attention also learns from a frozen matcher's
attention or from true boxes. The trained captioner does not need the teacher.
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
PADDED_TO = 128
"""The number of supervised words of a batch is padded to a multiple of this, so that few sizes occur."""


@dataclass(frozen=True)
class Distillation:
    """Likelihood plus lambda_1 times a loss on the attention at nouns."""

    teacher: str = "pos-scan"
    """A matcher with word-to-region attention: an earlier stage's name or a run folder. `boxes`: true boxes instead."""
    loss: str = "kl"
    """kl (Eq. 15, KL(beta || alpha)), kl-teacher-first (KL(alpha || beta), what the released code computes), nll (the
    best region's log-likelihood), any-region (Eq. 16), any-region-mean (Eq. 16 over the number of correct regions, as
    released)."""
    weight: float = 0.1
    """lambda_1; 0: plain likelihood."""
    mean_over: str = "words"
    """The attention loss is summed and divided by the number of all `words` (Eqs. 15, 16), or of the `supervised` ones
    (as released; the same lambda_1 then weighs about three times as much)."""
    stored: bool = True
    """Compute the teacher's attention for the training captions once and keep it. False: compute it at every step."""
    likelihood: Likelihood = field(default_factory=Likelihood)
    """Settings of the likelihood."""
    among: str = field(default="all", metadata=LATER)
    """Regions that the teacher may attend to: all; detected (without boxes that only fill up their number); or sure
    (its attention times the detector's score)."""

    def build(self, model: nn.Module, context: Context) -> DistillationObjective:
        """The objective that trains `model`."""
        return DistillationObjective(self, model, context)


class DistillationObjective(Recordable):
    """See `Distillation`."""

    def __init__(self, config: Distillation, model: nn.Module, context: Context) -> None:
        super().__init__()
        if config.loss not in ATTENTION_LOSSES:
            raise InputError(f"Unknown attention loss '{config.loss}'; choose one of {', '.join(ATTENTION_LOSSES)}.")
        if config.mean_over not in MEANS:
            raise InputError(f"mean_over must be {' or '.join(MEANS)}, not '{config.mean_over}'.")
        if config.teacher == BOXES and config.among != "all":
            raise InputError(
                f"among={config.among} applies to a matcher's attention, not to true boxes; set among=all."
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
        """The attention targets of a batch."""
        self.likelihood.prepare(batch)
        return (self.attention(batch, self.training).padded(PADDED_TO),)

    def phase(self) -> float:
        """That of the likelihood."""
        return self.likelihood.phase()

    def forward(self, batch: Batch, prepared: tuple[AttentionTargets] | None = None) -> dict[str, Tensor]:
        """The loss and values to log."""
        (targets,) = self.prepare(batch) if prepared is None else prepared
        found = self.likelihood.predict(batch)
        if found.attention is None:
            raise InputError(f"{type(self.model).__name__} has no attention to supervise.")
        words = self.likelihood.words_loss(found)
        losses = self.attention_losses(found.attention.float(), targets).masked_fill(~targets.real, 0.0)  # [M]
        supervised = targets.correct.any(-1) if self.config.loss.startswith("any-region") else targets.real
        attention = global_mean(losses.sum(), (found.mask if self.config.mean_over == "words" else supervised).sum())
        return {"loss": words + self.config.weight * attention, "words": words, "attention": attention}

    def attention_losses(self, attention: Tensor, targets: AttentionTargets) -> Tensor:
        """[M] from the captioner's attention [C, T - 1, R].

        The weight of a visual sentinel is one more column, where the teacher has none.
        """
        beta = attention[targets.caption, targets.position]  # [M, R]
        sentinel = (1 - beta.sum(-1, keepdim=True)).clamp(min=0)
        beta = torch.cat([beta, sentinel], -1)  # [M, R + 1]
        target = targets.correct if self.config.loss.startswith("any-region") else targets.weights
        result: Tensor = self.loss(beta, nn.functional.pad(target, (0, 1)))
        return result
