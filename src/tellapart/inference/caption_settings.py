"""How images are captioned."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

from tellapart.core.errors import InputError
from tellapart.images.sources import ImageInput
from tellapart.inference.known_images import KnownImages

if TYPE_CHECKING:
    from tellapart.inference.light.matching import LightMatcher
    from tellapart.inference.matching import PhotoMatcher

NEIGHBOURS = 10
OtherImages = ImageInput | Iterable[ImageInput] | KnownImages
MatcherOrRun = Union["PhotoMatcher", "LightMatcher", str, os.PathLike[str]]


@dataclass(frozen=True)
class CaptionSettings:
    """The options of `PhotoCaptioner.caption`."""

    against: OtherImages | None = None
    """A folder, images, or those of an index (`PhotoIndex.images()`): each caption tells its image apart from the most
    similar of these."""
    neighbours: int = NEIGHBOURS
    """How many of them to compare with."""
    weight: float = 0.5
    """0 for a likely and true caption, 1 for the most distinctive."""
    matcher: MatcherOrRun | None = None
    """Scores how well a caption identifies its image. Default: the bundled chooser for the bundled captioner, otherwise
    the captioner itself."""
    attention: bool = False
    """Add the attention of each word."""
    beam: int = 0
    """Width of each beam search; 0 for 5 with the bundled captioner and 3 with others, or 10 with `against`."""
    batch_size: int = 32
    """Images captioned at once."""
    progress: bool = False
    """Show a progress bar on stderr."""

    def __post_init__(self) -> None:
        for name, least in (("batch_size", 1), ("neighbours", 1), ("beam", 0)):
            if (value := getattr(self, name)) < least:
                raise InputError(f"`{name}` must be at least {least}, not {value}.")
        if not 0 <= self.weight <= 1:
            raise InputError(f"`weight` must be between 0 (likeliest) and 1 (most distinctive), not {self.weight}.")
        if self.matcher is not None and self.against is None:
            raise InputError("`matcher` compares captions with other images; give those with `against=FOLDER`.")
