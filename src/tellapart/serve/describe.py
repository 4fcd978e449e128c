"""Describe a photo that is not in the index: its caption, its distinctive caption, and similar photos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.images.opening import UnreadableImage
from tellapart.inference.caption_attention import CaptionAttention
from tellapart.inference.generated import GeneratedCaptions
from tellapart.inference.light.neighbours import nearest_vectors
from tellapart.report.attention import heat_map
from tellapart.search.query import Found
from tellapart.serve.library import PhotoLibrary
from tellapart.text.visible_nouns import mark_visible_nouns

EXTRA_CANDIDATES = 5
"""Candidates beyond the neighbours, because some may be copies of the photo."""
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
    distinct: bool | None = None
    """Whether the caption fits the photo better than every neighbour; the plain caption if nothing true does."""
    differences: list[Difference] = field(default_factory=list)
    """Words that set the photo apart."""
    confused_with: list[Found] = field(default_factory=list)
    """Neighbours that the caption fits at least as well."""
    confidence: float | None = None
    """Probability that the caption is true of the photo; None for models that it was not calibrated for."""
    sure: bool | None = None
    """Whether the confidence reaches its threshold."""


@dataclass(frozen=True)
class Difference:
    """A word that sets a photo apart."""

    word: str
    photos: list[Found]
    """The neighbours that show less of it."""


@dataclass(frozen=True)
class Description:
    """What the models say about a photo; captions are None where they cannot be generated."""

    caption: Caption | None
    distinctive_caption: Caption | None
    similar: list[Found]


class Describer:
    """Runs the models of a library on photos, with torch or without."""

    def __init__(self, library: PhotoLibrary, neighbours: int = 10) -> None:
        self.library, self.neighbours = library, neighbours
        self.embedder: Any = library.embedder  # with torch, or without
        self.has_captions, self.has_attention = library.embedder.has_captions, library.embedder.attends

    def describe(self, photo: Path, similar: int) -> Description:
        """Captions of a photo and the `similar` photos of the index nearest to it."""
        described = self.describe_all([photo], [similar])[0]
        if isinstance(described, Exception):
            raise described
        return described

    def describe_all(self, photos: Sequence[Path], similar: Sequence[int]) -> list[Description | Exception]:
        """The same for several photos; an unreadable one has its error instead."""
        described: list[Description | Exception] = []
        for photo, count in zip(photos, similar):
            try:
                described.append(self._described(photo, count))
            except UnreadableImage as error:
                described.append(error)
        return described

    def _described(self, photo: Path, similar: int) -> Description:
        vector, images = self.embedder.embed_with_features(photo)
        found = self.library.nearest(vector, max(similar, self.neighbours + EXTRA_CANDIDATES))
        if not self.embedder.has_captions:
            return Description(None, None, found[:similar])
        generated = self.embedder.describe(images, vector[None])
        apart = self._distinctive(images, vector, found)
        return Description(self._caption(generated, images, []), apart, found[:similar])

    def _distinctive(self, images: Any, vector: np.ndarray, found: list[Found]) -> Caption | None:
        """The caption that fits the photo better than its neighbours; None if the index has no other photo.

        The index has the vectors of the neighbours, so that their files are not read. Copies are not compared with.
        """
        candidates = found[: self.neighbours + EXTRA_CANDIDATES]
        if not candidates:
            return None
        vectors = self.library.vectors([one.content for one in candidates])
        rows = nearest_vectors(vector[None], vectors, self.neighbours)  # [1, M]
        if not rows.shape[1]:
            return None
        generated = self.embedder.describe_apart(images, vector, vectors, rows)
        return self._caption(generated, images, [candidates[row] for row in rows[0].tolist()])

    def _caption(self, generated: GeneratedCaptions, images: Any, neighbours: list[Found], place: int = 0) -> Caption:
        differing = generated.differing[place] if generated.differing else {}
        return Caption(
            generated.texts[place],
            self._words(generated, images, place),
            posterior=generated.posterior[place] if generated.posterior else None,
            distinct=generated.distinct[place] if generated.distinct else None,
            differences=[Difference(word, [neighbours[one] for one in places]) for word, places in differing.items()],
            confused_with=[neighbours[one] for one in generated.confused[place]] if generated.confused else [],
            confidence=generated.confidence[place] if generated.confidence else None,
            sure=generated.sure[place] if generated.sure else None,
        )

    def _words(self, generated: GeneratedCaptions, images: Any, place: int) -> list[Word]:
        attention: CaptionAttention | None = self.embedder.attention_of(generated, images)
        if attention is None:
            words = generated.texts[place].split()
            nouns = mark_visible_nouns([words])[0] if words else np.zeros(0, bool)
            return [Word(word, bool(noun), None, None) for word, noun in zip(words, nouns)]
        return [_word(attention, word) for word in range(len(attention.words))]


def _word(attention: CaptionAttention, place: int) -> Word:
    if not attention.nouns[place]:
        return Word(attention.words[place], False, None, None)
    left, top, right, bottom = attention.box_of(place).tolist()
    heat = heat_map(attention.weights[place], attention.boxes, GRID, GRID)
    return Word(attention.words[place], True, (left, top, right, bottom), heat.round(2).tolist())
