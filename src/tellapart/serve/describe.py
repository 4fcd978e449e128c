"""Describe a photo that is not in the index: its caption, its distinctive caption, and similar photos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.images.opening import UnreadableImage
from tellapart.inference.among_index import Compared, compared_by_chooser, compared_by_index
from tellapart.inference.caption_attention import CaptionAttention
from tellapart.inference.generated import GeneratedCaptions
from tellapart.inference.judging import COMPARED
from tellapart.inference.remembered_vectors import RememberedVectors
from tellapart.report.attention import heat_map
from tellapart.search.embedded import Seen
from tellapart.search.query import Found
from tellapart.serve.library import PhotoLibrary
from tellapart.text.visible_nouns import mark_visible_nouns
from tellapart.text.written import as_written, continues

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
    """Runs the models of a library on a few photos at a time, with torch or without."""

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
        """The same for several photos, in few calls of the models; an unreadable one has its error instead."""
        described: dict[int, Description | Exception] = {}
        for seen in self.embedder.see(photos):
            described |= {place: UnreadableImage(f"{fault}.") for place, fault in seen.faults.items()}
            if seen.places:
                described |= zip(seen.places, self._described(seen, photos, similar))
        return [described[place] for place in range(len(photos))]

    def _described(self, seen: Seen, photos: Sequence[Path], similar: Sequence[int]) -> list[Description]:
        least, counts = max(COMPARED, self.neighbours) + EXTRA_CANDIDATES, [similar[place] for place in seen.places]
        found = [self.library.nearest(vector, max(count, least)) for vector, count in zip(seen.vectors, counts)]
        plain: list[Caption | None] = [None] * len(found)
        apart = list(plain)
        if self.embedder.has_captions:
            generated = self.embedder.describe(seen.images, seen.vectors)
            plain = [self._caption(generated, seen.images, row, []) for row in range(len(found))]
            apart = self._distinctive(seen, photos, [some[:least] for some in found])
        return [Description(*one) for one in zip(plain, apart, [some[:count] for some, count in zip(found, counts)])]

    def _distinctive(self, seen: Seen, photos: Sequence[Path], candidates: list[list[Found]]) -> list[Caption | None]:
        """The captions that fit the photos better than their neighbours; None if the index has no other photo.

        The index has vectors of the neighbours. Where the chooser compares them, it reads their files, once. Copies are
        not compared with.
        """
        captions: list[Caption | None] = [None] * len(candidates)
        found = list({one.content: one for some in candidates for one in some}.values())
        for compared in self._compared(seen, photos, found, candidates):
            if not compared.found.shape[1]:
                continue
            images = self.embedder.select(seen.images, compared.rows)
            generated = self.embedder.describe_apart(images, compared, self.neighbours)
            for place, row in enumerate(compared.rows):
                shown = [found[one] for one in compared.found[place, : self.neighbours].tolist()]
                captions[row] = self._caption(generated, images, place, shown)
        return captions

    def _compared(
        self, seen: Seen, photos: Sequence[Path], found: list[Found], candidates: list[list[Found]]
    ) -> list[Compared]:
        """With which of the found photos each seen one is compared, and by whose vectors."""
        known = self.library.known(found)
        row = {one.content: number for number, one in enumerate(found)}
        rows = [[row[one.content] for one in some] for some in candidates]
        chooser: RememberedVectors | None = self.embedder.chooser_vectors(known)
        if chooser is None:
            return compared_by_index(seen.vectors, known, rows, self.neighbours)
        own = seen.vectors, chooser.read([photos[place] for place in seen.places])
        return compared_by_chooser(own, known, rows, max(COMPARED, self.neighbours), chooser, at_once=len(rows))

    def _caption(self, generated: GeneratedCaptions, images: Any, place: int, neighbours: list[Found]) -> Caption:
        differing = generated.differing[place] if generated.differing else {}
        return Caption(
            as_written(generated.texts[place]),
            self._words(generated, images, place),
            posterior=generated.posterior[place] if generated.posterior else None,
            distinct=generated.distinct[place] if generated.distinct else None,
            differences=[Difference(word, [neighbours[one] for one in places]) for word, places in differing.items()],
            confused_with=[neighbours[one] for one in generated.confused[place]] if generated.confused else [],
            confidence=generated.confidence[place] if generated.confidence else None,
            sure=generated.sure[place] if generated.sure else None,
        )

    def _words(self, generated: GeneratedCaptions, images: Any, place: int) -> list[Word]:
        attention: CaptionAttention | None = self.embedder.attention_of(generated, images, place)
        if attention is None:
            words = generated.texts[place].split()
            nouns = mark_visible_nouns([words])[0] if words else np.zeros(0, bool)
            return _joined([Word(word, bool(noun), None, None) for word, noun in zip(words, nouns)])
        return _joined([_word(attention, word) for word in range(len(attention.words))])


def _joined(words: list[Word]) -> list[Word]:
    """Words as people write them: "cat" and "'s" are one, with the attention of the first."""
    joined: list[Word] = []
    for word in words:
        if joined and continues(word.text, joined[-1].text):
            joined[-1] = replace(joined[-1], text=joined[-1].text + word.text)
        else:
            joined.append(word)
    return joined


def _word(attention: CaptionAttention, place: int) -> Word:
    if not attention.nouns[place]:
        return Word(attention.words[place], False, None, None)
    left, top, right, bottom = attention.box_of(place).tolist()
    heat = heat_map(attention.weights[place], attention.boxes, GRID, GRID)
    return Word(attention.words[place], True, (left, top, right, bottom), heat.round(2).tolist())
