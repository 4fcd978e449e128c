"""Several matchers as one: averaged scores, or joined vectors for matchers with global vectors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.types import Encoded, Images, Texts
from tellapart.models.matchers.scores import unit


class EnsembleModel(nn.Module):
    """Matchers with global vectors, over the same features and vocabulary, as one matcher.

    Concatenated vectors of length sqrt(w_k) have the dot product sum_k w_k cos_k: the weighted mean of the members'
    cosines. So an ensemble is searched and indexed like a single matcher.
    """

    def __init__(self, members: Sequence[nn.Module], weights: Sequence[float] | None = None) -> None:
        super().__init__()
        if not members:
            raise InputError("An ensemble needs at least one matcher.")
        self.members = nn.ModuleList(members)
        self.shares = normalised(weights, len(members))

    def encode_image(self, images: Images) -> Encoded:
        """Joined image vectors [I, sum of widths]."""
        return self._join([member.encode_image(images) for member in self.members])  # type: ignore[operator]

    def encode_text(self, texts: Texts) -> Encoded:
        """Joined caption vectors [C, sum of widths]."""
        return self._join([member.encode_text(texts) for member in self.members])  # type: ignore[operator]

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        """Weighted mean cosines [I, C]."""
        return images.vectors @ texts.vectors.t()

    def _join(self, parts: list[Encoded]) -> Encoded:
        if any(part.vectors.dim() != 2 for part in parts):
            raise InputError("Only matchers with one vector per image can be joined; average the scores of the others.")
        scaled = [share**0.5 * unit(part.vectors) for share, part in zip(self.shares, parts)]
        return Encoded(torch.cat(scaled, dim=1))


def average_scores(
    matrices: Sequence[Tensor], weights: Sequence[float] | None = None, standardise: bool = True
) -> Tensor:
    """The mean score matrix [I, C] of several matchers, which may read different features.

    standardise: scale each matrix to mean 0 and deviation 1 first, so that a matcher with widely spread scores (SCAN
    against a cosine) does not dominate.
    """
    if len({tuple(matrix.shape) for matrix in matrices}) != 1:
        raise InputError("Only score matrices over the same images and captions can be averaged.")
    total = torch.zeros_like(matrices[0])
    for share, matrix in zip(normalised(weights, len(matrices)), matrices):
        spread = matrix.std().clamp(min=1e-12)
        total += share * ((matrix - matrix.mean()) / spread if standardise else matrix)
    return total


def normalised(weights: Sequence[float] | None, count: int) -> list[float]:
    """The weights scaled to sum 1; equal weights by default."""
    given = list(weights) if weights is not None else [1.0] * count
    if len(given) != count or min(given) < 0 or sum(given) <= 0:
        raise InputError(f"`weights` must be {count} numbers, none negative and not all zero; got {given}.")
    return [weight / sum(given) for weight in given]
