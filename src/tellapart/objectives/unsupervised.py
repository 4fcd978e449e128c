"""R2M's two objectives (section 2.4): sentences from their own concepts, and images told apart by their sentences'
memories.

Its four stages are: `ConceptsToSentence()` on text; the same with `reconstruction=1`; `VisualAlignment()` on
images; the same with `reconstruction=1`. No stage reads a caption of an image.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.distributed import gather_rows, global_mean
from tellapart.core.errors import InputError
from tellapart.core.types import Batch, Images, State, Step
from tellapart.data.concepts_column import IMAGE_CONCEPTS, SENTENCE_CONCEPTS
from tellapart.data.sampling import LATER
from tellapart.losses.hinge import HardestNegativeHinge
from tellapart.losses.likelihood import WordCrossEntropy
from tellapart.losses.unmasked_hinge import UnmaskedHinge
from tellapart.models.captioners.r2m import R2MModel
from tellapart.models.captioners.teacher_forcing import at_words
from tellapart.models.decoding import greedy, with_start
from tellapart.models.layers.concept_encoder import shuffled
from tellapart.objectives.context import Context
from tellapart.objectives.recordable import Recordable
from tellapart.text.vocabulary import PAD

COMPAT = ("paper", "code")


@dataclass(frozen=True)
class ConceptsToSentence:
    """Supervised learning on text (Eqs. 10, 11): L_XE + beta L_rec^S, for sentences with no images."""

    reconstruction: float = 0.0
    """beta; 0 leaves the reconstructor alone."""
    smoothing: float = 0.0
    """Label smoothing; the paper has none."""
    distance: str = "sum"
    """sum: L_rec is the squared length of v - v~, as printed; mean: over the width, as released (512 times
    smaller)."""

    def build(self, model: nn.Module, context: Context) -> ConceptsToSentenceObjective:
        return ConceptsToSentenceObjective(self, check_model(model))


class ConceptsToSentenceObjective(Recordable):
    def __init__(self, config: ConceptsToSentence, model: R2MModel) -> None:
        super().__init__()
        self.config, self.model = config, model
        self.loss = WordCrossEntropy(config.smoothing)
        self.rebuilding = SquaredDistance(config.distance)

    def forward(self, batch: Batch, prepared: Any = None) -> dict[str, Tensor]:
        concepts = column(batch.texts.columns, SENTENCE_CONCEPTS)
        vectors = self.model.encode(shuffled(concepts) if self.training else concepts)  # v^S [C, d]
        tokens = batch.texts.tokens
        hidden = self.model.read(self.model.begin(vectors), tokens).hidden  # [C, T - 1, S d]
        mask = tokens[:, 1:] != PAD
        words = self.loss.per_word(self.model.logits(at_words(hidden, mask)), at_words(tokens[:, 1:], mask))
        likelihood = global_mean(words.sum(), mask.sum())
        if self.config.reconstruction == 0:
            return {"loss": likelihood}
        rebuilt = self.model.reconstruct(hidden, batch.texts.lengths)  # v~^S [C, d]
        distance = self.rebuilding(vectors, rebuilt)
        rebuilding = global_mean(distance.sum(), len(distance))
        loss = likelihood + self.config.reconstruction * rebuilding  # Eq. 11
        return {"loss": loss, "likelihood": likelihood, "reconstruction": rebuilding}


@dataclass(frozen=True)
class VisualAlignment:
    """Unsupervised learning on images (Eqs. 12, 13): L_M^I + gamma L_rec^I.

    The model says a sentence about each image, greedily; its words are constants, and the gradient flows through
    the memories that said them alone. The image's vector v^ is a fixed random projection of its pooled features.
    """

    margin: float = 0.2
    """m of Eq. 12."""
    reconstruction: float = 0.0
    """gamma."""
    longest: int = 20
    """Words at most of a sentence said in training."""
    projection_seed: int = 0
    """Stages with one seed share one projection."""
    distance: str = "sum"
    """Of L_rec, as in `ConceptsToSentence`."""
    anchor: float = field(default=0.0, metadata=LATER)
    """Weight of keeping the language (not in the paper): at every word said, KL(p before this stage || p now). Images
    alone never say whether a sentence still is one."""
    compat: str = "paper"
    """paper: the triplets of Eq. 12; code: as released, with the pair among its own negatives (`UnmaskedHinge`)."""

    def build(self, model: nn.Module, context: Context) -> VisualAlignmentObjective:
        if context.inputs.feature_width < 1:
            raise InputError("Visual alignment compares images by their features; extract some for this pack first.")
        return VisualAlignmentObjective(self, check_model(model), context.inputs.feature_width)


class VisualAlignmentObjective(nn.Module):
    projection: Tensor

    def __init__(self, config: VisualAlignment, model: R2MModel, feature_width: int) -> None:
        super().__init__()
        if config.compat not in COMPAT:
            raise InputError(f"compat is '{config.compat}'; it must be 'paper' or 'code'.")
        self.config, self.model = config, model
        self.rebuilding = SquaredDistance(config.distance)
        self.ranking = HardestNegativeHinge(config.margin)
        self.unmasked = UnmaskedHinge(config.margin)
        random = torch.Generator().manual_seed(config.projection_seed)
        self.register_buffer("projection", torch.randn(feature_width, model.width, generator=random))
        # In a tuple: what the model said before is neither trained nor saved with it.
        self._before = (copy.deepcopy(model).eval().requires_grad_(False),) if config.anchor else ()

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        concepts = column(batch.images.columns, IMAGE_CONCEPTS)
        vectors = self.model.encode(shuffled(concepts) if self.training else concepts)  # v^I [I, d]
        said = say(self.model, vectors, batch.images, self.config.longest)  # [I, T]
        hidden = self.model.read(self.model.begin(vectors), said).hidden
        rebuilt = self.model.reconstruct(hidden, (said != PAD).sum(1))  # v~^I [I, d]
        seen = functional.normalize(batch.images.pooled() @ self.projection, dim=1)  # v^ [I, d]
        scores = gather_rows(seen) @ gather_rows(rebuilt).t()  # S(I, C) [I, I]
        matching = self._matching(scores)
        figures = {"loss": matching, "matching": matching}
        if self.config.reconstruction:
            distance = self.rebuilding(vectors, rebuilt)
            rebuilding = global_mean(distance.sum(), len(distance))
            figures |= {
                "loss": matching + self.config.reconstruction * rebuilding,  # Eq. 13
                "reconstruction": rebuilding,
            }
        for before in self._before:
            drift = self._drift(before.to(vectors.device), concepts, said, hidden)
            figures |= {"loss": figures["loss"] + self.config.anchor * drift, "drift": drift}
        return figures

    def _drift(self, before: R2MModel, concepts: Tensor, said: Tensor, hidden: Tensor) -> Tensor:
        """How far the distributions of the words said are from those of the model before: mean KL."""
        mask = said[:, 1:] != PAD
        with torch.no_grad():
            old = before.read(before.begin(before.encode(concepts)), said).hidden[mask]
            old = before.logits(old).log_softmax(-1)  # [M, V]
        new = self.model.logits(hidden[mask]).log_softmax(-1)
        return global_mean(functional.kl_div(new, old, reduction="sum", log_target=True), mask.sum())

    def _matching(self, scores: Tensor) -> Tensor:
        if self.config.compat == "code":
            return self.unmasked(scores)
        return self.ranking(scores, torch.arange(len(scores), device=scores.device))


class SquaredDistance(nn.Module):
    """L_rec: ||v - v~||^2, one value a row, or its mean over the width."""

    def __init__(self, distance: str) -> None:
        super().__init__()
        if distance not in ("sum", "mean"):
            raise InputError(f"distance is '{distance}'; it must be 'sum' or 'mean'.")
        self.distance = distance

    def forward(self, wanted: Tensor, rebuilt: Tensor) -> Tensor:
        squares = (wanted - rebuilt).pow(2)
        return squares.mean(1) if self.distance == "mean" else squares.sum(1)


class Started:
    """A captioner that begins from states already made, so that one drawing of dropout serves saying and reading."""

    def __init__(self, model: R2MModel, state: State) -> None:
        self.model, self.state = model, state

    def start(self, images: Images) -> State:
        return self.state

    def step(self, word: Tensor, state: State) -> Step:
        return self.model.step(word, state)


@torch.no_grad()
def say(model: R2MModel, vectors: Tensor, images: Images, longest: int) -> Tensor:
    """The likeliest words about concepts already encoded [N, d]: START … END PAD [N, T]."""
    return with_start(greedy(Started(model, model.begin(vectors)), images, longest).tokens)  # type: ignore[arg-type]


def column(columns: Mapping[str, Tensor], name: str) -> Tensor:
    if name not in columns:
        raise InputError(
            f"This objective reads the column '{name}'; make it with `tellapart annotate PACK --concepts`."
        )
    return columns[name]


def check_model(model: nn.Module) -> R2MModel:
    if not isinstance(model, R2MModel):
        raise InputError(f"This objective trains R2M, not {type(model).__name__}.")
    return model
