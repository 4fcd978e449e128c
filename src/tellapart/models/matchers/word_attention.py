"""A matcher's word-to-region attention, for attention supervision and for grounding metrics."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.types import Encoded, Images, Texts


@runtime_checkable
class AttendingMatcher(Protocol):
    """A matcher whose words attend to regions, such as SCAN."""

    def encode_image(self, images: Images) -> Encoded: ...

    def encode_text(self, texts: Texts) -> Encoded: ...

    def attend(self, images: Encoded, texts: Encoded) -> Tensor:
        """alpha [N, T, R]: the attention of each token of caption n over image n; zero rows for ignored tokens."""
        ...


@torch.no_grad()
def word_attention(matcher: object, images: Images, texts: Texts, owner: Tensor) -> Tensor:
    """alpha [C, T, R] of captions over their own images, including the tokens START and END."""
    if not isinstance(matcher, AttendingMatcher):
        raise InputError(f"{type(matcher).__name__} has no word-to-region attention; use SCAN or POS-SCAN.")
    return matcher.attend(matcher.encode_image(images).select(owner), matcher.encode_text(texts))
