"""The regions of the image that each word of a caption attends to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.core.types import Images
from tellapart.models.decoding import Decoded, greedy
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


def attends(model: object) -> bool:
    """Whether a captioner attends to the rows of an image: one that reads the image once has no keys in its state."""
    return isinstance(model, Captioner) and any("keys" in name for name in getattr(model, "image_state", ()))


@torch.no_grad()
def greedy_attention(
    model: object,
    images: Images,
    vocabulary: Vocabulary,
    nouns: Sequence[bool] | np.ndarray | None = None,
    max_words: int = 20,
) -> CaptionAttention:
    """The attention of the greedy caption of one image.

    nouns: [V] which words of the vocabulary are nouns; by default a tagger marks those of the caption.
    """
    if not isinstance(model, Captioner):
        raise InputError(f"{type(model).__name__} generates no captions, so it has no attention to draw.")
    if len(images) != 1 or images.boxes is None:
        raise InputError("Attention is drawn for one image, with features that have boxes (grid or regions).")
    if not attends(model):
        raise InputError(f"{type(model).__name__} does not attend to regions, so it has no attention to draw.")
    return attention_of_caption(greedy(model, images, max_words), images, 0, vocabulary, nouns)


def attention_of_caption(
    decoded: Decoded,
    images: Images,
    row: int,
    vocabulary: Vocabulary,
    nouns: Sequence[bool] | np.ndarray | None = None,
) -> CaptionAttention:
    """The attention of caption `row` over image `row`, for captions of any decoder."""
    if decoded.attention is None or images.boxes is None:
        raise InputError("This captioner does not attend to regions, so it has no attention to draw.")
    ids = decoded.tokens[row].tolist()
    ids = [index for index in (ids[: ids.index(END)] if END in ids else ids) if index != PAD]
    real = images.mask[row].cpu()
    weights = decoded.attention[row, : len(ids)].cpu()[:, real].numpy()
    words = tuple(vocabulary.words[index] for index in ids)
    if nouns is None:
        from tellapart.text.visible_nouns import mark_visible_nouns

        marks = tuple(bool(mark) for mark in mark_visible_nouns([words])[0])
    else:
        marks = tuple(bool(nouns[index]) for index in ids)
    return CaptionAttention(words, weights, images.boxes[row].cpu()[real].numpy(), marks)
