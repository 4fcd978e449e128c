"""Where a matcher's words look: asked by captioners that learn to look, and by the measures of looking."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.types import Encoded, Images, Texts


@runtime_checkable
class AttendingMatcher(Protocol):
    """A matcher whose words look at regions: SCAN and its kin."""

    def encode_image(self, images: Images) -> Encoded: ...

    def encode_text(self, texts: Texts) -> Encoded: ...

    def attend(self, images: Encoded, texts: Encoded) -> Tensor:
        """alpha [N, T, R]: where each token of sentence n looks in image n; zero rows for tokens passed over."""
        ...


@torch.no_grad()
def word_attention(matcher: object, images: Images, texts: Texts, owner: Tensor) -> Tensor:
    """alpha [C, T, R] of sentences with their own images, START and END among the tokens."""
    if not isinstance(matcher, AttendingMatcher):
        raise InputError(f"{type(matcher).__name__} has no word-to-region attention; use SCAN or POS-SCAN.")
    return matcher.attend(matcher.encode_image(images).select(owner), matcher.encode_text(texts))
