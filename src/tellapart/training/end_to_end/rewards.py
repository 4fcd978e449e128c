"""The reward of a sampled caption: CIDEr-D, plus how well it identifies its image, minus its untrue objects."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.metrics.captions.token_reward import TokenCider
from tellapart.models.matchers.dual_encoder import DualEncoderModel
from tellapart.training.end_to_end.object_words import ObjectWords, untrue_objects
from tellapart.training.end_to_end.rare_words import RareWords
from tellapart.training.end_to_end.words import PiecesOfWords


@dataclass(frozen=True)
class RewardWeights:
    """Weights of the parts of the reward."""

    cider: float = 1.0
    """Weight of CIDEr-D."""
    retrieval: float = 0.3
    """Weight of ln p(image | caption) among look-alikes and the batch, by the matcher."""
    untrue: float = 0.5
    """Subtracted for each named object that no reference names."""
    least_log_probability: float = -8.0
    """Lower bound of the log-probability of the own image."""
    apart: float = 0.0
    """Weight of p(the own image before its hardest look-alike): it ends to pay where a caption identifies its image."""
    rare: float = 0.0
    """Weight of rare words that a reference has, too."""


class Rewards:
    """Rewards of captions of images whose references, vectors and look-alikes are on the device.

    Args:
        cider: built from the references of all rows.
        vectors: the matcher's image vectors [I, E].
        neighbours: look-alikes of each image [I, k], rows of `vectors`.
        named: objects that the references of each image name [I, 80].
        scale: what cosines are multiplied with, one over the temperature.
        rare: pays for rare words; needed where its weight is not 0.
    """

    def __init__(
        self,
        cider: TokenCider,
        matcher: DualEncoderModel,
        pieces: PiecesOfWords,
        objects: ObjectWords,
        vectors: Tensor,
        neighbours: Tensor,
        named: Tensor,
        scale: float,
        rare: RareWords | None = None,
    ) -> None:
        self.cider, self.matcher, self.pieces, self.objects = cider, matcher, pieces, objects
        self.vectors, self.neighbours, self.named, self.scale = vectors, neighbours, named, scale
        self.rare = rare

    @torch.no_grad()
    def __call__(self, drawn: Tensor, rows: Tensor, weights: RewardWeights) -> dict[str, Tensor]:
        """Parts and their weighted sum `reward` [C] for drawn captions [C, T] of images at rows [I], C = k I."""
        each = len(drawn) // len(rows)
        owner = rows.repeat_interleave(each)
        parts = {"cider": self.cider.reward(drawn, owner).float()}
        reward = weights.cider * parts["cider"]
        if weights.retrieval or weights.apart:
            found, ahead = self.retrieval(drawn, rows)
            parts["retrieval"], parts["apart"] = found.clamp(min=weights.least_log_probability), ahead.sigmoid()
            reward = reward + weights.retrieval * parts["retrieval"] + weights.apart * parts["apart"]
        if weights.rare:
            if self.rare is None:
                raise InputError("A reward for rare words needs RareWords of the references; give them to Rewards.")
            parts["rare"] = self.rare(drawn, owner)
            reward = reward + weights.rare * parts["rare"]
        parts["untrue"] = untrue_objects(self.objects(drawn), self.named[owner])
        return {"reward": reward - weights.untrue * parts["untrue"], **parts}

    def retrieval(self, drawn: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The log-probability of the own image among its look-alikes and the other images of the batch, and by how many
        nats it is before its hardest look-alike, both [C]."""
        each = len(drawn) // len(rows)
        pieces = self.pieces(drawn)
        captions = self.matcher.text_vectors(pieces, pieces > 0).float()  # [C, E]
        with torch.autocast(captions.device.type, enabled=False):  # bfloat16 is too coarse for cosines
            return self._own_scores(captions, rows, each)

    def _own_scores(self, captions: Tensor, rows: Tensor, each: int) -> tuple[Tensor, Tensor]:
        batch = captions @ self.vectors[rows].t()  # [C, I]
        near = self.vectors[self.neighbours[rows]].repeat_interleave(each, 0)  # [C, k, E]
        close = torch.einsum("ce,cke->ck", captions, near)
        place = torch.arange(len(rows), device=rows.device).repeat_interleave(each)
        own = batch.gather(1, place.unsqueeze(1)).squeeze(1)
        log_probability = self.scale * own - torch.logsumexp(self.scale * torch.cat([batch, close], 1), 1)
        return log_probability, self.scale * (own - close.amax(1))


def leave_one_out(reward: Tensor, each: int) -> Tensor:
    """Each reward [C] less the mean of the other captions' of its image (Luo 2020, section 2)."""
    grouped = reward.view(-1, each)
    others = (grouped.sum(1, keepdim=True) - grouped) / max(each - 1, 1)
    return (grouped - others).flatten()


@torch.no_grad()
def nearest(vectors: Tensor, count: int, block: int = 4096) -> Tensor:
    """[I, count] rows of the nearest other vectors by inner product."""
    found = []
    for first in range(0, len(vectors), block):
        scores = vectors[first : first + block] @ vectors.t()
        own = torch.arange(first, first + len(scores), device=vectors.device)
        scores.scatter_(1, own.unsqueeze(1), -torch.inf)
        found.append(scores.topk(count, 1).indices)
    return torch.cat(found)
