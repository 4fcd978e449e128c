"""A caption as users get it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tellapart.inference.attention import CaptionAttention


@dataclass(frozen=True)
class Caption:
    """A generated caption; `str(caption)` is its text."""

    text: str
    log_probability: float
    """ln p(caption | image)."""
    image: str | None = None
    """Path of the image; None for an image that exists in memory only."""
    likeliest: str | None = None
    """With `against`: the likeliest caption, which may be another one."""
    posterior: float | None = None
    """With `against`: p(image | caption) among the image and its neighbours, 0 … 1."""
    attention: CaptionAttention | None = field(default=None, repr=False, compare=False)
    """With `attention=True`: the weights of each word over boxes of the image."""

    def __str__(self) -> str:
        return self.text
