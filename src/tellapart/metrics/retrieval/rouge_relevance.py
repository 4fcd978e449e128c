"""How relevant images are for a caption: the ROUGE-L of the caption against each image's captions.

Rows of the relevance matrix are computed a few at a time, so that 25,000 captions of 5,000 images need no more memory
than 5,000 captions of 1,000.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from tellapart.metrics.retrieval.common_subsequences import END, References, common_lengths

BETA = 1.2
PAIRS_AT_ONCE = {"cpu": 1 << 21, "cuda": 1 << 25}
"""Pairs of captions compared at once, by type of device."""


class RougeRelevance:
    """ROUGE-L of every caption with every image's captions, in lower case, split at white space.

    The maxima of precision and recall over an image's captions are taken separately, then combined with beta 1.2.
    """

    def __init__(self, captions: Sequence[str], owner: Tensor, device: torch.device | str = "cpu") -> None:
        """captions [C], and the image `owner` [C] of each."""
        self.words, self.lengths = (values.to(device) for values in numbered(captions))
        self.references = References(self.words, self.lengths)
        self.owner = owner.to(device)
        self.images = int(owner.max()) + 1
        self.at_once = max(1, PAIRS_AT_ONCE.get(self.words.device.type, 1 << 21) // len(captions))

    def rows(self, first: int, last: int) -> Tensor:
        """The relevance of all images for captions `first` to `last` [q, I], float32."""
        lengths = self.lengths[first:last]
        common = common_lengths(self.words[first:last], lengths, self.references).float()  # [q, C]
        precision = self._best(common) / lengths.clamp(min=1).unsqueeze(1)
        recall = self._best(common / self.lengths.clamp(min=1))
        denominator = recall + BETA**2 * precision
        return (1 + BETA**2) * precision * recall / denominator.masked_fill(denominator == 0, 1)

    def parts(self) -> Iterator[tuple[int, Tensor]]:
        """(first caption, its relevance and that of the next ones [q, I]), until all captions had their turn."""
        for first in range(0, len(self.words), self.at_once):
            yield first, self.rows(first, first + self.at_once)

    def _best(self, values: Tensor) -> Tensor:
        """The largest value over an image's captions: [q, C] -> [q, I]; 0 for an image without captions."""
        start = values.new_zeros(len(values), self.images)
        return start.scatter_reduce_(1, self.owner.expand_as(values), values, "amax")


def rouge_relevance(captions: Sequence[str], owner: Tensor) -> Tensor:
    """The whole matrix of `RougeRelevance` at once: [C, I]."""
    return torch.cat([part for _, part in RougeRelevance(captions, owner).parts()])


def numbered(captions: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Words as numbers [C, T], -1 after the end, and lengths [C]."""
    ids: dict[str, int] = {}
    rows = [[ids.setdefault(word, len(ids)) for word in caption.lower().split()] for caption in captions]
    lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
    words = torch.full((len(rows), max(1, int(lengths.max()) if rows else 1)), END)
    inside = torch.arange(words.shape[1]) < lengths.unsqueeze(1)
    words[inside] = torch.tensor([word for row in rows for word in row], dtype=torch.long)
    return words, lengths
