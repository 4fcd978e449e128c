"""Describe a photo that is not in the index: its caption, its distinctive caption, and similar photos."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from tellapart.core.types import Images
from tellapart.images.opening import UnreadableImage
from tellapart.inference.attention import CaptionAttention, attention_of_caption
from tellapart.inference.caption_generator import CaptionGenerator, GeneratedCaptions
from tellapart.report.attention import heat_map
from tellapart.search.query import Found
from tellapart.serve.cache import LRUCache
from tellapart.serve.library import PhotoLibrary, UnknownPhoto
from tellapart.text.visible_nouns import mark_visible_nouns

EXTRA_CANDIDATES = 5
"""Candidates beyond the neighbours, because some may be copies of the photo."""
CACHE_BYTES = 64 * 1024 * 1024
"""For features of neighbours."""

GRID = 14
"""Cells per side of the attention of a word."""

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Word:
    """A word of a caption."""

    text: str
    noun: bool
    box: Box | None
    """The region with the most attention: left, top, right, bottom as fractions of width and height."""
    attention: list[list[float]] | None
    """Attention over the photo, rows of a square grid from the top, highest 1; None for other words than nouns."""


@dataclass(frozen=True)
class Caption:
    """A caption word by word."""

    text: str
    words: list[Word]
    posterior: float | None = None
    """p(photo | caption) among the photo and its neighbours."""


@dataclass(frozen=True)
class Description:
    """What the models say about a photo; captions are None where they cannot be generated."""

    caption: Caption | None
    distinctive_caption: Caption | None
    similar: list[Found]


class Describer:
    """Runs the models of a library on one photo at a time."""

    def __init__(self, library: PhotoLibrary, neighbours: int = 10) -> None:
        self.library, self.neighbours = library, neighbours
        self.generator: CaptionGenerator | None = library.embedder.generator
        self.has_attention = self.generator is not None and self.generator.attends
        self._features: LRUCache[Images] = LRUCache(CACHE_BYTES)

    @torch.inference_mode()
    def describe(self, photo: Path, similar: int) -> Description:
        """Captions of a photo and the `similar` photos of the index nearest to it."""
        vector, images = self.library.embedder.embed_with_features(photo)
        found = self.library.nearest(vector, max(similar, self.neighbours + EXTRA_CANDIDATES))
        if self.generator is None:
            return Description(None, None, found[:similar])
        caption = self._caption(self.generator.generate(images), images)
        return Description(caption, self._distinctive(self.generator, images, found), found[:similar])

    def _distinctive(self, generator: CaptionGenerator, images: Images, found: list[Found]) -> Caption | None:
        """The caption that fits the photo better than its neighbours; None if the index has no other photo."""
        candidates = found[: self.neighbours + EXTRA_CANDIDATES]
        seen = [some for one in candidates if (some := self._images(one)) is not None]
        generated = generator.generate_among(images, seen, self.neighbours)
        return None if generated is None else self._caption(generated, images)

    def _images(self, photo: Found) -> Images | None:
        """The features of a photo of the index; None if its file is missing or broken."""
        images = self._features.get(photo.content)
        if images is None:
            try:
                images = self.library.embedder.embed_with_features(self.library.file(photo.content))[1]
            except (UnknownPhoto, UnreadableImage):
                return None
            self._features.put(photo.content, images, images.features.nbytes)
        return images

    def _caption(self, generated: GeneratedCaptions, images: Images) -> Caption:
        text = generated.texts[0]
        posterior = None if generated.posterior is None else generated.posterior[0]
        if not self.has_attention or self.generator is None:
            words = text.split()
            nouns = mark_visible_nouns([words])[0] if words else np.zeros(0, bool)
            return Caption(text, [Word(word, bool(noun), None, None) for word, noun in zip(words, nouns)], posterior)
        attention = attention_of_caption(generated.decoded, images, 0, self.generator.run.vocabulary)
        return Caption(text, [_word(attention, place) for place in range(len(attention.words))], posterior)


def _word(attention: CaptionAttention, place: int) -> Word:
    if not attention.nouns[place]:
        return Word(attention.words[place], False, None, None)
    left, top, right, bottom = attention.box_of(place).tolist()
    heat = heat_map(attention.weights[place], attention.boxes, GRID, GRID)
    return Word(attention.words[place], True, (left, top, right, bottom), heat.round(2).tolist())
