"""The words of a caption, with their attention over boxes of the image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellapart.core.errors import InputError
from tellapart.text.visible_nouns import mark_visible_nouns
from tellapart.text.vocabulary import END, PAD, Vocabulary


@dataclass(frozen=True, eq=False)
class CaptionAttention:
    """The words of a caption, with their attention over boxes of the image."""

    words: tuple[str, ...]
    weights: np.ndarray  # [T, R]; a row adds up to less than one if the model attends partly to no region
    boxes: np.ndarray  # [R, 4] x1 y1 x2 y2 in fractions of width and height
    nouns: tuple[bool, ...]
    """Which words are nouns that name something visible."""

    def __post_init__(self) -> None:
        if self.weights.shape != (len(self.words), len(self.boxes)) or len(self.nouns) != len(self.words):
            raise InputError(
                f"{len(self.words)} words, {len(self.nouns)} noun marks, {len(self.boxes)} boxes and attention of "
                f"shape {self.weights.shape} do not belong together."
            )

    def box_of(self, word: int) -> np.ndarray:
        """The box with the highest weight of a word [4]."""
        return np.asarray(self.boxes[int(self.weights[word].argmax())])


def attention_of_words(
    tokens: np.ndarray,
    weights: np.ndarray,
    boxes: np.ndarray,
    vocabulary: Vocabulary,
    nouns: Sequence[bool] | np.ndarray | None = None,
) -> CaptionAttention:
    """The attention of one caption [T] with weights [T, R] over boxes [R, 4].

    nouns: [V] which words of the vocabulary are nouns; by default a list says it.
    """
    ids = tokens.tolist()
    ids = [index for index in (ids[: ids.index(END)] if END in ids else ids) if index != PAD]
    words = tuple(vocabulary.words[index] for index in ids)
    if nouns is None:
        marks = tuple(bool(mark) for mark in mark_visible_nouns([words])[0])
    else:
        marks = tuple(bool(nouns[index]) for index in ids)
    return CaptionAttention(words, weights[: len(ids)], boxes, marks)
