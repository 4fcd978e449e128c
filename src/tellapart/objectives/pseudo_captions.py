"""How UC-GAN's captioner begins (Feng et al. 2019): it learns from images the captions that their concepts lead to."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from tellapart.core.distributed import global_mean
from tellapart.core.errors import InputError
from tellapart.core.types import Batch
from tellapart.data.concepts_column import IMAGE_CONCEPTS
from tellapart.losses.likelihood import WordCrossEntropy
from tellapart.models.captioners.r2m import R2MModel
from tellapart.models.captioners.teacher_forcing import predictions_from_state
from tellapart.objectives.context import Context
from tellapart.objectives.r2m_parts import check_r2m, concept_column, greedy_captions


@dataclass(frozen=True)
class PseudoCaptions:
    """Likelihood, on batches of images, of the captions that a concept captioner generates. No caption of an image is
    used."""

    teacher: str = "previous"
    """The stage or run folder of the concept captioner, which does not change."""
    longest: int = 20
    """Most words of a generated caption."""

    def build(self, model: nn.Module, context: Context) -> PseudoCaptionsObjective:
        """The objective that trains `model`."""
        learner = check_r2m(model)
        if learner.see is None:
            raise InputError("Pseudo captions teach a captioner that reads images: set model.image_input=true.")
        return PseudoCaptionsObjective(self, learner, check_r2m(context.model(self.teacher)))


class PseudoCaptionsObjective(nn.Module):
    """See `PseudoCaptions`."""

    def __init__(self, config: PseudoCaptions, model: R2MModel, teacher: R2MModel) -> None:
        super().__init__()
        self.config, self.model, self.teacher = config, model, teacher
        self.loss = WordCrossEntropy()

    def train(self, on: bool = True) -> PseudoCaptionsObjective:
        """Set the mode; the teacher stays in eval mode, without dropout."""
        super().train(on)
        self.teacher.eval()
        return self

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """The loss: mean cross-entropy per word."""
        concepts = concept_column(batch.images.columns, IMAGE_CONCEPTS)
        tokens = greedy_captions(self.teacher, self.teacher.encode(concepts), batch.images, self.config.longest)
        found = predictions_from_state(self.model, self.model.start(batch.images), tokens)
        words = self.loss.per_word(found.logits, found.targets)
        return {"loss": global_mean(words.sum(), found.mask.sum())}
