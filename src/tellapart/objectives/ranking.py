"""Matching pairs above mismatching ones: any matcher with any ranking loss."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor, nn

from tellapart.distributed import gather, gather_owner
from tellapart.errors import InputError
from tellapart.losses import Contrast
from tellapart.losses.multimodal import MultimodalContrast
from tellapart.losses.pairs import positives
from tellapart.objectives.context import Context
from tellapart.protocols import Matcher
from tellapart.scores import cosine
from tellapart.types import Batch, Encoded


class RankingObjective(nn.Module):
    """Encode, gather across processes, score, rank. The loss sees one score matrix and who owns which
    sentence."""

    def __init__(self, model: nn.Module, loss: nn.Module) -> None:
        super().__init__()
        if not isinstance(model, Matcher):
            raise InputError(f"A ranking objective trains a matcher, and {type(model).__name__} is none.")
        self.model = model
        self.loss = loss

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        images, texts = self.model.encode_image(batch.images), self.model.encode_text(batch.texts)
        return self.rank(images, texts, batch.owner)

    def rank(self, images: Encoded, texts: Encoded, owner: Tensor) -> dict[str, Tensor]:
        """The loss of encoded pictures and sentences; objectives that add to a ranking loss begin with
        this."""
        owner = gather_owner(owner, len(images))
        images, texts = gather(images), gather(texts)
        scores = self.model.score(images, texts)  # [I, C]
        if isinstance(self.loss, MultimodalContrast):
            among_pictures, among_captions = _within(images), _within(texts)
            loss = self.loss(scores, owner, among_pictures, among_captions)
        else:
            loss = self.loss(scores, owner)
        return {
            "loss": loss,
            "positive": positives(scores.detach(), owner).mean(),
            "score": scores.detach().mean(),
        }


def _within(encoded: Encoded) -> Tensor:
    """Scores within one modality [N, N]: MVN contrasts pictures with pictures and sentences with
    sentences."""
    if encoded.vectors.dim() != 2:
        raise InputError(
            "The multimodal loss needs one vector a picture and a sentence; this matcher gives local ones."
        )
    return cosine(encoded.vectors, encoded.vectors)


@dataclass(frozen=True)
class Ranking:
    """Trains a matcher with a ranking loss."""

    contrast: Contrast = field(default_factory=Contrast)
    """Which ranking loss, with its margin, temperature and reduction."""

    def build(self, model: nn.Module, context: Context) -> RankingObjective:
        return RankingObjective(model, self.contrast.build())
