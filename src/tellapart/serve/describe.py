"""A photo that is not in the index, told: plainly, and apart from the images of the index that are most like it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from tellapart.core.types import Images
from tellapart.images.opening import UnreadableImage
from tellapart.inference.caption_generator import CaptionGenerator, Sentences
from tellapart.inference.distinctive import nearest
from tellapart.inference.neighbours import SAME_WITHIN
from tellapart.report.attention import attention_of_caption, looks
from tellapart.search.query import Found
from tellapart.serve.library import Library, UnknownPhoto
from tellapart.serve.recent import Recent
from tellapart.text.nouns import mark_nouns

COPIES = 5
"""Images of the index beside the neighbours that are looked at, for some may be the photo itself."""
KEPT = 64 * 1024 * 1024
"""Bytes of neighbours' features that are kept in memory."""


@dataclass(frozen=True)
class Word:
    word: str
    noun: bool
    box: tuple[float, float, float, float] | None
    """Where it looked most: left, top, right, bottom in fractions of width and height."""


@dataclass(frozen=True)
class Sentence:
    text: str
    words: list[Word]
    found: float | None = None
    """How sure the sentence finds its photo among the neighbours, 0 … 1."""


@dataclass(frozen=True)
class Description:
    plain: Sentence | None
    apart: Sentence | None
    similar: list[Found]


class Describer:
    """The index's models at work on one photo at a time."""

    def __init__(self, library: Library, neighbours: int = 10) -> None:
        self.library, self.neighbours = library, neighbours
        self.generator: CaptionGenerator | None = library.embedder.generator
        self.attends = (
            self.generator is not None and looks(self.generator.run.model) and self.generator.look.kind != "vector"
        )
        self._seen: Recent[Images] = Recent(KEPT)

    @torch.inference_mode()
    def describe(self, photo: Path, similar: int) -> Description:
        vector, images = self.library.embedder.shown(photo)
        found = self.library.nearest(vector, max(similar, self.neighbours + COPIES))
        if self.generator is None:
            return Description(None, None, found[:similar])
        plain = self._sentence(self.generator.tell(images), images)
        return Description(plain, self._apart(self.generator, images, found), found[:similar])

    def _apart(self, generator: CaptionGenerator, images: Images, found: list[Found]) -> Sentence | None:
        """None where the index holds no other image to tell this one apart from."""
        seen = [some for one in found[: self.neighbours + COPIES] if (some := self._look(one)) is not None]
        if not seen:
            return None
        among = Images(
            torch.cat([one.features for one in seen]),
            torch.cat([one.mask for one in seen]),
            None if images.boxes is None else torch.cat([one.boxes for one in seen if one.boxes is not None]),
        )
        rows = nearest(images, among, self.neighbours, SAME_WITHIN)  # [1, M]
        return self._sentence(generator.tell_apart(images, among, rows), images) if rows.shape[1] else None

    def _look(self, one: Found) -> Images | None:
        seen = self._seen.get(one.content)
        if seen is None:
            try:
                seen = self.library.embedder.shown(self.library.file(one.content))[1]
            except (UnknownPhoto, UnreadableImage):  # gone or broken since it was indexed: no neighbour
                return None
            self._seen.put(one.content, seen, seen.features.nbytes)
        return seen

    def _sentence(self, said: Sentences, images: Images) -> Sentence:
        text = said.texts[0]
        found = None if said.found is None else said.found[0]
        if not self.attends or self.generator is None:
            words = text.split()
            marks = mark_nouns([words])[0] if words else np.zeros(0, bool)
            return Sentence(text, [Word(word, bool(noun), None) for word, noun in zip(words, marks)], found)
        attention = attention_of_caption(said.decoded, images, 0, self.generator.run.vocabulary)
        return Sentence(
            text,
            [
                Word(word, noun, tuple(attention.box_of(place).tolist()) if noun else None)  # type: ignore[arg-type]
                for place, (word, noun) in enumerate(zip(attention.words, attention.nouns))
            ],
            found,
        )
