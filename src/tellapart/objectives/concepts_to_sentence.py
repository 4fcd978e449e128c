"""R2M's supervised objective on text (unsupervised captioning paper, section 2.4): sentences from their concepts.

R2M trains in four stages: `ConceptsToSentence()` on text; the same with `reconstruction=1`; `VisualAlignment()` on
images; the same with `reconstruction=1`. No stage reads a caption of an image.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from tellapart.core.distributed import global_mean
from tellapart.core.errors import InputError
from tellapart.core.types import Batch
from tellapart.data.concepts_column import SENTENCE_CONCEPTS
from tellapart.data.sampling import LATER
from tellapart.losses.likelihood import WordCrossEntropy
from tellapart.models.captioners.r2m import R2MModel
from tellapart.models.captioners.teacher_forcing import at_words
from tellapart.models.layers.concept_encoder import shuffled
from tellapart.objectives.context import Context
from tellapart.objectives.r2m_parts import SquaredDistance, check_r2m, concept_column
from tellapart.objectives.recordable import Recordable
from tellapart.text.vocabulary import PAD


@dataclass(frozen=True)
class ConceptsToSentence:
    """Supervised learning on text (Eqs. 10, 11): L_XE + beta L_rec^S, for sentences with no images."""

    reconstruction: float = 0.0
    """beta; 0: without the reconstructor."""
    smoothing: float = 0.0
    """Label smoothing; the paper has none."""
    distance: str = "sum"
    """sum: L_rec is the squared length of v - v~, as printed; mean: over the width, as released (512 times smaller)."""
    words: str = field(default="mean", metadata=LATER)
    """mean: L_XE is the mean over all words of a batch, as released. sum: over a sentence's words, then the mean over
    sentences, as Eq. 10 is printed; next to L_rec it then weighs as many times more as a sentence has words."""

    def build(self, model: nn.Module, context: Context) -> ConceptsToSentenceObjective:
        """The objective that trains `model`."""
        return ConceptsToSentenceObjective(self, check_r2m(model))


class ConceptsToSentenceObjective(Recordable):
    """See `ConceptsToSentence`."""

    def __init__(self, config: ConceptsToSentence, model: R2MModel) -> None:
        super().__init__()
        if config.words not in ("mean", "sum"):
            raise InputError(f"words must be 'mean' or 'sum', not '{config.words}'.")
        self.config, self.model = config, model
        self.loss = WordCrossEntropy(config.smoothing)
        self.rebuilding = SquaredDistance(config.distance)

    def forward(self, batch: Batch, prepared: Any = None) -> dict[str, Tensor]:
        """The loss and values to log."""
        concepts = concept_column(batch.texts.columns, SENTENCE_CONCEPTS)
        vectors = self.model.encode(shuffled(concepts) if self.training else concepts)  # v^S [C, d]
        tokens = batch.texts.tokens
        hidden = self.model.read(self.model.begin(vectors), tokens).hidden  # [C, T - 1, S d]
        mask = tokens[:, 1:] != PAD
        words = self.loss.per_word(self.model.logits(at_words(hidden, mask)), at_words(tokens[:, 1:], mask))
        likelihood = global_mean(words.sum(), mask.sum() if self.config.words == "mean" else len(tokens))  # Eq. 10
        if self.config.reconstruction == 0:
            return {"loss": likelihood}
        rebuilt = self.model.reconstruct(hidden, batch.texts.lengths)  # v~^S [C, d]
        distance = self.rebuilding(vectors, rebuilt)
        rebuilding = global_mean(distance.sum(), len(distance))
        loss = likelihood + self.config.reconstruction * rebuilding  # Eq. 11
        return {"loss": loss, "likelihood": likelihood, "reconstruction": rebuilding}
