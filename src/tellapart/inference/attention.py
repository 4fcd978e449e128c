"""The regions of the image that each word of a caption attends to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.core.types import Images
from tellapart.inference.caption_attention import CaptionAttention, attention_of_words
from tellapart.inference.judge import Judge
from tellapart.inference.light.decoded import Captions
from tellapart.inference.word_regions import pointed
from tellapart.models.decoding import Decoded, greedy
from tellapart.text.vocabulary import Vocabulary

__all__ = ["CaptionAttention", "attends", "attention_of_caption", "greedy_attention", "pointing_attention"]


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


def pointing_attention(attention: CaptionAttention, images: Images, row: int, judge: Judge | None) -> CaptionAttention:
    """Attention over a finer grid that follows where the judge sees nouns; the same attention if it cannot say."""
    if judge is None:
        return attention
    one = images.select(torch.tensor([row], device=images.features.device))
    similarity = judge.cell_similarity(one, attention.words)
    same = similarity is not None and similarity.shape[1] == len(attention.boxes)
    return pointed(attention, similarity) if similarity is not None and same else attention


def attention_of_caption(
    decoded: Decoded | Captions,
    images: Images,
    row: int,
    vocabulary: Vocabulary,
    nouns: Sequence[bool] | np.ndarray | None = None,
) -> CaptionAttention:
    """The attention of caption `row` over image `row`, for captions of any decoder."""
    if decoded.attention is None or images.boxes is None:
        raise InputError("This captioner does not attend to regions, so it has no attention to draw.")
    real = np.asarray(images.mask[row].cpu())
    weights, boxes = np.asarray(decoded.attention[row])[:, real], images.boxes[row].cpu().numpy()[real]
    return attention_of_words(np.asarray(decoded.tokens[row]), weights, boxes, vocabulary, nouns)
