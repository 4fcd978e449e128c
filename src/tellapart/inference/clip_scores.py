"""CLIPScore and RefCLIPScore of captions by any matcher with one vector per image: bundled, a run, or `hf:…`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tellapart.core.errors import InputError
from tellapart.inference.light.matching import ImageInputs, LightMatcher, is_vectors
from tellapart.metrics.captions.clip_score import PROMPT, clip_score, ref_clip_score
from tellapart.metrics.captions.values import Score

if TYPE_CHECKING:
    from tellapart.inference.matching import PhotoMatcher


def clip_scores(
    matcher: PhotoMatcher | LightMatcher,
    images: ImageInputs | np.ndarray,
    captions: Sequence[str],
    references: Sequence[Sequence[str]] | None = None,
    prompt: str = PROMPT,
) -> dict[str, Score]:
    """`clip_score` of one caption per image, and with references `ref_clip_score`; the paper's values need its CLIP.

    images: as `encode_images` takes them, or the vectors that it returns.
    prompt: written before every caption and reference; empty for matchers that learned from plain captions.
    """
    known = isinstance(images, np.ndarray) and is_vectors(images)
    pixels = np.asarray(images) if known else matcher.encode_images(images)
    if len(pixels) != len(captions) or (references is not None and len(references) != len(captions)):
        raise InputError(f"There are {len(pixels)} images and {len(captions)} captions; give one caption per image.")
    texts = matcher.encode_texts([prompt + caption for caption in captions])
    found = {"clip_score": clip_score(pixels, texts)}
    if references is not None:
        if not all(references):
            raise InputError("Every image needs at least one reference.")
        vectors = matcher.encode_texts([prompt + text for group in references for text in group])
        ends = np.cumsum([len(group) for group in references])[:-1]
        found["ref_clip_score"] = ref_clip_score(pixels, texts, np.split(vectors, ends))
    return found
