"""Describe a photo that is not in the index: its caption, its distinctive caption, and similar photos."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from tellapart.core.types import Encoded, Images
from tellapart.inference.attention import CaptionAttention, attention_of_caption
from tellapart.inference.caption_generator import CaptionGenerator, GeneratedCaptions, with_confidence
from tellapart.inference.judge import Judge
from tellapart.inference.judging import Surroundings
from tellapart.inference.neighbours import nearest
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
    """Runs the models of a library on one photo at a time."""

    def __init__(self, library: PhotoLibrary, neighbours: int = 10) -> None:
        self.library, self.neighbours = library, neighbours
        self.generator: CaptionGenerator | None = library.embedder.generator
        self.has_attention = self.generator is not None and self.generator.attends
        matcher = library.embedder.matcher
        self.judge = Judge(matcher.run, matcher.device)

    @torch.inference_mode()
    def describe(self, photo: Path, similar: int) -> Description:
        """Captions of a photo and the `similar` photos of the index nearest to it."""
        vector, images = self.library.embedder.embed_with_features(photo)
        found = self.library.nearest(vector, max(similar, self.neighbours + EXTRA_CANDIDATES))
        if self.generator is None:
            return Description(None, None, found[:similar])
        own = Encoded(torch.from_numpy(vector).unsqueeze(0).to(self.judge.device))  # [1, E]
        generated = with_confidence(self.generator.generate(images), self.judge, own)
        apart = self._distinctive(self.generator, images, own, found)
        return Description(self._caption(generated, images, []), apart, found[:similar])

    def _distinctive(
        self, generator: CaptionGenerator, images: Images, own: Encoded, found: list[Found]
    ) -> Caption | None:
        """The caption that fits the photo better than its neighbours; None if the index has no other photo.

        The index has the vectors of the neighbours, so that their files are not read. Copies are not compared with.
        """
        candidates = found[: self.neighbours + EXTRA_CANDIDATES]
        if not candidates:
            return None
        vectors = torch.from_numpy(self.library.vectors([one.content for one in candidates])).to(own.vectors.device)
        rows = nearest(_as_images(own.vectors), _as_images(vectors), self.neighbours)  # [1, M]
        if not rows.shape[1]:
            return None
        generated = generator.generate_apart(
            images, self.judge, Surroundings(own, Encoded(vectors), rows.cpu().numpy())
        )
        return self._caption(generated, images, [candidates[row] for row in rows[0].tolist()])

    def _caption(self, generated: GeneratedCaptions, images: Images, neighbours: list[Found]) -> Caption:
        differing = generated.differing[0] if generated.differing else {}
        return Caption(
            generated.texts[0],
            self._words(generated, images),
            posterior=generated.posterior[0] if generated.posterior else None,
            distinct=generated.distinct[0] if generated.distinct else None,
            differences=[Difference(word, [neighbours[one] for one in places]) for word, places in differing.items()],
            confused_with=[neighbours[one] for one in generated.confused[0]] if generated.confused else [],
            confidence=generated.confidence[0] if generated.confidence else None,
            sure=generated.sure[0] if generated.sure else None,
        )

    def _words(self, generated: GeneratedCaptions, images: Images) -> list[Word]:
        if not self.has_attention or self.generator is None:
            words = generated.texts[0].split()
            nouns = mark_visible_nouns([words])[0] if words else np.zeros(0, bool)
            return [Word(word, bool(noun), None, None) for word, noun in zip(words, nouns)]
        attention = attention_of_caption(generated.decoded, images, 0, self.generator.run.vocabulary)
        return [_word(attention, place) for place in range(len(attention.words))]


def _as_images(vectors: torch.Tensor) -> Images:
    """Vectors [N, E] as features of one row each."""
    return Images(vectors.unsqueeze(1), torch.ones(len(vectors), 1, dtype=torch.bool, device=vectors.device))


def _word(attention: CaptionAttention, place: int) -> Word:
    if not attention.nouns[place]:
        return Word(attention.words[place], False, None, None)
    left, top, right, bottom = attention.box_of(place).tolist()
    heat = heat_map(attention.weights[place], attention.boxes, GRID, GRID)
    return Word(attention.words[place], True, (left, top, right, bottom), heat.round(2).tolist())
