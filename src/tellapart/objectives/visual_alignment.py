"""R2M's unsupervised objective on images (unsupervised captioning paper, section 2.4): align images with captions."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.distributed import gather_rows, global_mean
from tellapart.core.errors import InputError
from tellapart.core.types import Batch
from tellapart.data.concepts_column import IMAGE_CONCEPTS
from tellapart.data.sampling import LATER
from tellapart.losses.hinge import HardestNegativeHinge, SumOfHinges
from tellapart.losses.unmasked_hinge import UnmaskedHinge
from tellapart.metrics.retrieval.self_retrieval import self_retrieval_ranks
from tellapart.models.captioners.r2m import R2MModel
from tellapart.models.layers.concept_encoder import shuffled
from tellapart.objectives.context import Context
from tellapart.objectives.project_images import project_images
from tellapart.objectives.r2m_parts import SquaredDistance, check_r2m, concept_column, greedy_captions
from tellapart.text.vocabulary import PAD

COMPAT = ("paper", "code")
NEGATIVES = ("hardest", "all")


@dataclass(frozen=True)
class VisualAlignment:
    """Unsupervised learning on images (Eqs. 12, 13): L_M^I + gamma L_rec^I.

    The model generates a caption of each image greedily. Its words are constants: the gradient flows through the
    memories alone. The image's vector v^ is a fixed projection of its pooled features. Vectors that have nothing to do
    with each other cost two margins, 0.4, and so does a constant.
    """

    margin: float = 0.2
    """m of Eq. 12."""
    reconstruction: float = 0.0
    """gamma."""
    longest: int = 20
    """Most words of a caption generated in training."""
    projection_seed: int = 0
    """Seed of the random projection; stages with the same seed share it."""
    distance: str = "sum"
    """Form of L_rec, as in `ConceptsToSentence`."""
    anchor: float = field(default=0.0, metadata=LATER)
    """Weight of KL(p before this stage || p now) at every generated word (not in the paper). It keeps captions
    grammatical, which images alone do not."""
    image_projection: str = field(default="random", metadata=LATER)
    """Projection of image features to v^. random: as released; v^ has then nothing to do with v~ at the start, and the
    paper's 150 steps at 1e-5 are too few to learn it. fitted: to v of the images' concepts (`fit_projection`), without
    captions."""
    negatives: str = field(default="hardest", metadata=LATER)
    """hardest: the hardest negative of the batch, as in Eq. 12. Concepts cannot tell images with the same concepts
    apart, and most images have such a twin in a batch of 256, so that this loss stays above the cost of a constant even
    where captions find their images. all: the mean over all negatives."""
    compat: str = "paper"
    """paper: the triplets of Eq. 12; code: as released, with the pair among its own negatives (`UnmaskedHinge`)."""

    def build(self, model: nn.Module, context: Context) -> VisualAlignmentObjective:
        """The objective that trains `model`."""
        if context.inputs.feature_width < 1:
            raise InputError(
                "Visual alignment compares images by their features; extract features for this pack first."
            )
        projection = project_images(self.image_projection, self.projection_seed, check_r2m(model), context)
        return VisualAlignmentObjective(self, check_r2m(model), projection)


class VisualAlignmentObjective(nn.Module):
    """See `VisualAlignment`."""

    projection: Tensor
    shift: Tensor

    def __init__(self, config: VisualAlignment, model: R2MModel, projection: tuple[Tensor, Tensor]) -> None:
        super().__init__()
        if config.compat not in COMPAT:
            raise InputError(f"compat must be 'paper' or 'code', not '{config.compat}'.")
        self.config, self.model = config, model
        self.rebuilding = SquaredDistance(config.distance)
        if config.negatives not in NEGATIVES:
            raise InputError(f"negatives must be one of {', '.join(NEGATIVES)}, not '{config.negatives}'.")
        self.ranking = HardestNegativeHinge(config.margin)
        self.every_negative = SumOfHinges(config.margin)
        self.unmasked = UnmaskedHinge(config.margin)
        self.register_buffer("projection", projection[0])  # [D, d]
        self.register_buffer("shift", projection[1])  # [d]
        # In a tuple, so that the model from before this stage is neither trained nor saved.
        self._before = (copy.deepcopy(model).eval().requires_grad_(False),) if config.anchor else ()

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """The loss and values to log."""
        concepts = concept_column(batch.images.columns, IMAGE_CONCEPTS)
        vectors = self.model.encode(shuffled(concepts) if self.training else concepts)  # v^I [I, d]
        tokens = greedy_captions(self.model, vectors, batch.images, self.config.longest)  # [I, T]
        hidden = self.model.read(self.model.begin(vectors), tokens).hidden
        rebuilt = self.model.reconstruct(hidden, (tokens != PAD).sum(1))  # v~^I [I, d]
        seen = functional.normalize(batch.images.pooled() @ self.projection + self.shift, dim=1)  # v^ [I, d]
        scores = gather_rows(seen) @ gather_rows(rebuilt).t()  # S(I, C) [I, I]
        matching = self._matching(scores)
        ranks = self_retrieval_ranks(scores.detach().t())
        values = {
            "loss": matching,
            "matching": matching,
            "violation": self._violation(scores.detach()),
            "retrieval": 100 * (ranks == 0).float().mean(),
            "median_rank": ranks.float().median() + 1,
        }
        if self.config.reconstruction:
            distance = self.rebuilding(vectors, rebuilt)
            rebuilding = global_mean(distance.sum(), len(distance))
            values |= {
                "loss": matching + self.config.reconstruction * rebuilding,  # Eq. 13
                "reconstruction": rebuilding,
            }
        for before in self._before:
            drift = self._drift(before.to(vectors.device), concepts, tokens, hidden)
            values |= {"loss": values["loss"] + self.config.anchor * drift, "drift": drift}
        return values

    def _drift(self, before: R2MModel, concepts: Tensor, tokens: Tensor, hidden: Tensor) -> Tensor:
        """Mean KL, a scalar, from the old model's distributions of the generated words [I, T] to the new ones."""
        mask = tokens[:, 1:] != PAD
        with torch.no_grad():
            old = before.read(before.begin(before.encode(concepts)), tokens).hidden[mask]
            old = before.logits(old).log_softmax(-1)  # [M, V]
        new = self.model.logits(hidden[mask]).log_softmax(-1)
        return global_mean(functional.kl_div(new, old, reduction="sum", log_target=True), mask.sum())

    def _matching(self, scores: Tensor) -> Tensor:
        if self.config.compat == "code":
            unmasked: Tensor = self.unmasked(scores)
            return unmasked
        if self.config.negatives == "all":
            return self._violation(scores)
        hinge: Tensor = self.ranking(scores, torch.arange(len(scores), device=scores.device))
        return hinge

    def _violation(self, scores: Tensor) -> Tensor:
        """Both hinges, averaged over all negatives instead of the hardest, a scalar; a constant costs two margins."""
        total: Tensor = self.every_negative(scores, torch.arange(len(scores), device=scores.device))
        return total / max(len(scores) - 1, 1)
