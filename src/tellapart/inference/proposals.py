"""Captions of each image to choose from: the plain one, and beams guided towards what its neighbours lack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellapart.inference.light.decoded import Captions
from tellapart.text.function_words import repeats_itself, wrong_article
from tellapart.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Proposals:
    """K captions per image, the plain one first."""

    decoded: Captions  # [I * K] rows, image by image
    texts: list[list[str]]  # [I][K]
    usable: np.ndarray  # [I, K] bool: no duplicate, not empty, names nothing twice, articles fit

    @property
    def each(self) -> int:
        """K."""
        return int(self.usable.shape[1])

    @property
    def log_probability(self) -> np.ndarray:
        """ln p(c|I) [I, K]."""
        return self.decoded.log_probability.reshape(self.usable.shape)

    @property
    def words(self) -> np.ndarray:
        """Words of each caption, with END [I, K]."""
        return np.asarray((self.decoded.tokens != 0).sum(1).reshape(self.usable.shape))

    def select(self, chosen: np.ndarray) -> Captions:
        """Caption `chosen[i]` of each image i."""
        return self.decoded.select(np.arange(len(chosen)) * self.each + chosen)


def join_proposals(parts: Sequence[Captions], images: int, vocabulary: Vocabulary) -> Proposals:
    """The captions of several searches, each image-major; the first caption of the first search is the plain one.

    The plain caption is always usable.
    """
    longest = max(part.tokens.shape[1] for part in parts)
    padded = [_padded(part, longest) for part in parts]
    attention = [part.attention for part in padded if part.attention is not None]
    decoded = Captions(
        _image_major([part.tokens for part in padded], images),
        _image_major([part.log_probability for part in padded], images),
        _image_major(attention, images) if len(attention) == len(padded) else None,
    )
    each = len(decoded) // max(images, 1)
    written = [vocabulary.decode(row) for row in decoded.tokens.tolist()]
    texts = [written[first : first + each] for first in range(0, len(written), each)]
    usable = np.asarray([_usable(captions) for captions in texts], bool).reshape(images, each)
    return Proposals(decoded, texts, usable & _possible(decoded, images))


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


def _possible(decoded: Captions, images: int) -> np.ndarray:
    """[I, K]: an empty place of a beam holds no caption."""
    return np.asarray(~np.isinf(decoded.log_probability).reshape(images, -1))


def _padded(part: Captions, longest: int) -> Captions:
    missing = longest - part.tokens.shape[1]
    attention = None if part.attention is None else np.pad(part.attention, ((0, 0), (0, missing), (0, 0)))
    return Captions(np.pad(part.tokens, ((0, 0), (0, missing))), part.log_probability, attention)


def _image_major(parts: Sequence[np.ndarray], images: int) -> np.ndarray:
    joined = np.concatenate([part.reshape(images, -1, *part.shape[1:]) for part in parts], 1)
    return joined.reshape(-1, *joined.shape[2:])
