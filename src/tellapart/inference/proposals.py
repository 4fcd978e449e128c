"""Captions of each image to choose from: the plain one, and beams guided towards what its neighbours lack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from tellapart.models.decoding import Decoded
from tellapart.text.function_words import repeats_itself, wrong_article
from tellapart.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Proposals:
    """K captions per image, the plain one first."""

    decoded: Decoded  # [I * K] rows, image by image
    texts: list[list[str]]  # [I][K]
    usable: Tensor  # [I, K] bool: no duplicate, not empty, names nothing twice, articles fit

    @property
    def each(self) -> int:
        """K."""
        return self.usable.shape[1]

    @property
    def log_probability(self) -> Tensor:
        """ln p(c|I) [I, K]."""
        return self.decoded.log_probability.view(self.usable.shape)

    @property
    def words(self) -> Tensor:
        """Words of each caption, with END [I, K]."""
        return (self.decoded.tokens != 0).sum(1).view(self.usable.shape)

    def select(self, chosen: Tensor) -> Decoded:
        """Caption `chosen[i]` of each image i."""
        return self.decoded.select(torch.arange(len(chosen), device=chosen.device) * self.each + chosen)


def replaced(decoded: Decoded, rows: Tensor, other: Decoded) -> Decoded:
    """Captions with those at `rows` replaced by others."""
    longest = max(decoded.tokens.shape[1], other.tokens.shape[1])
    one, two = _padded(decoded, longest), _padded(other, longest)
    tokens, chance = one.tokens.clone(), one.log_probability.clone()
    tokens[rows], chance[rows] = two.tokens, two.log_probability
    if one.attention is None or two.attention is None:
        return Decoded(tokens, chance)
    attention = one.attention.clone()
    attention[rows] = two.attention
    return Decoded(tokens, chance, attention)


def join_proposals(parts: Sequence[Decoded], images: int, vocabulary: Vocabulary) -> Proposals:
    """The captions of several searches, each image-major; the first caption of the first search is the plain one.

    The plain caption is always usable.
    """
    longest = max(part.tokens.shape[1] for part in parts)
    padded = [_padded(part, longest) for part in parts]
    attention = [part.attention for part in padded if part.attention is not None]
    decoded = Decoded(
        _image_major([part.tokens for part in padded], images),
        _image_major([part.log_probability for part in padded], images),
        _image_major(attention, images) if len(attention) == len(padded) else None,
    )
    each = len(decoded) // max(images, 1)
    written = [vocabulary.decode(row) for row in decoded.tokens.tolist()]
    texts = [written[first : first + each] for first in range(0, len(written), each)]
    usable = torch.tensor([_usable(captions) for captions in texts], dtype=torch.bool).view(images, each)
    return Proposals(decoded, texts, usable.to(decoded.tokens.device) & _possible(decoded, images))


def _usable(captions: list[str]) -> list[bool]:
    seen: set[str] = set()
    marks = []
    for number, caption in enumerate(captions):
        words = caption.split()
        marks.append(
            number == 0
            or (bool(words) and caption not in seen and not repeats_itself(words) and not wrong_article(words))
        )
        seen.add(caption)
    return marks


def _possible(decoded: Decoded, images: int) -> Tensor:
    """[I, K]: an empty place of a beam holds no caption."""
    return ~torch.isinf(decoded.log_probability).view(images, -1)


def _padded(part: Decoded, longest: int) -> Decoded:
    missing = longest - part.tokens.shape[1]
    attention = None if part.attention is None else functional.pad(part.attention, (0, 0, 0, missing))
    return Decoded(functional.pad(part.tokens, (0, missing)), part.log_probability, attention)


def _image_major(parts: Sequence[Tensor], images: int) -> Tensor:
    return torch.cat([part.view(images, -1, *part.shape[1:]) for part in parts], 1).flatten(0, 1)
