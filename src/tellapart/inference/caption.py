"""A caption as users get it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tellapart.inference.caption_attention import CaptionAttention


@dataclass(frozen=True)
class Difference:
    """A word of a caption that sets its image apart from some neighbours."""

    word: str
    neighbours: tuple[str | None, ...]
    """Paths of the neighbours that show less of it."""


@dataclass(frozen=True)
class Caption:
    """A generated caption; `str(caption)` is its text."""

    text: str
    log_probability: float
    """ln p(caption | image)."""
    image: str | None = None
    """Path of the image; None for an image that exists in memory only."""
    likeliest: str | None = None
    """With `against`: the plain caption, which may be another one. With another matcher than the bundled one it is the
    likeliest caption."""
    posterior: float | None = None
    """With `against`: p(image | caption) among the image and its neighbours, 0 … 1."""
    distinct: bool | None = None
    """With `against`: whether the caption fits its image better than every neighbour. If False, nothing true was found
    that sets the image apart, and the caption is the plain one."""
    differences: tuple[Difference, ...] = ()
    """With `against`: the words that set the image apart, each with the neighbours that show less of it."""
    neighbours: tuple[str | None, ...] = ()
    """With `against`: paths of the images that it was compared with, most similar first."""
    confused_with: tuple[str | None, ...] = ()
    """With `against`: the neighbours that the caption fits at least as well as its image."""
    confidence: float | None = None
    """Probability that the caption is true of the image; None for models that it was not calibrated for."""
    sure: bool | None = None
    """Whether the confidence reaches the threshold that was chosen on images set aside; None without confidence."""
    attention: CaptionAttention | None = field(default=None, repr=False, compare=False)
    """With `attention=True`: the weights of each word over boxes of the image."""

    def __str__(self) -> str:
        return self.text
