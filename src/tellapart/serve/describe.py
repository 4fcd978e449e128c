"""Describe a photo that is not in the index: its caption, its distinctive caption, and similar photos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from tellapart.core.types import Encoded, Images
from tellapart.images.opening import UnreadableImage
from tellapart.inference.attention import CaptionAttention, attention_of_caption, pointing_attention
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


@dataclass(frozen=True)
class _Seen:
    """A photo that is being described."""

    vector: np.ndarray  # [E]
    images: Images  # [1, …]
    found: list[Found]

    def shape(self) -> tuple[object, ...]:
        """Photos of one shape can be described together."""
        images = self.images
        others = [getattr(images, name) for name in ("boxes", "pixels")]
        shapes = [None if one is None else tuple(one.shape) for one in (images.features, images.mask, *others)]
        return (*shapes, tuple(images.columns))


class Describer:
    """Runs the models of a library on a few photos at a time, which is faster than on each by itself."""

    def __init__(self, library: PhotoLibrary, neighbours: int = 10) -> None:
        self.library, self.neighbours = library, neighbours
        self.generator: CaptionGenerator | None = library.embedder.generator
        self.has_attention = self.generator is not None and self.generator.attends
        matcher = library.embedder.matcher
        self.judge = Judge(matcher.run, matcher.device)

    @torch.inference_mode()
    def describe(self, photo: Path, similar: int) -> Description:
        """Captions of a photo and the `similar` photos of the index nearest to it."""
        described = self.describe_all([photo], [similar])[0]
        if isinstance(described, Exception):
            raise described
        return described

    @torch.inference_mode()
    def describe_all(self, photos: Sequence[Path], similar: Sequence[int]) -> list[Description | Exception]:
        """The same for several photos; an unreadable one has its error instead."""
        described: list[Description | Exception | None] = [None] * len(photos)
        groups: dict[tuple[object, ...], list[tuple[int, _Seen]]] = {}
        for place, (photo, count) in enumerate(zip(photos, similar)):
            try:
                vector, images = self.library.embedder.embed_with_features(photo)
            except UnreadableImage as error:
                described[place] = error
                continue
            seen = _Seen(vector, images, self.library.nearest(vector, max(count, self.neighbours + EXTRA_CANDIDATES)))
            groups.setdefault(seen.shape(), []).append((place, seen))
        for group in groups.values():
            captions = self._captions([seen for _, seen in group])
            for (place, seen), (plain, apart) in zip(group, captions):
                described[place] = Description(plain, apart, seen.found[: similar[place]])
        return [one for one in described if one is not None]

    def _captions(self, seen: list[_Seen]) -> list[tuple[Caption | None, Caption | None]]:
        """The plain and the distinctive caption of each photo."""
        if self.generator is None:
            return [(None, None)] * len(seen)
        images = _joined([one.images for one in seen])
        own = Encoded(torch.from_numpy(np.stack([one.vector for one in seen])).to(self.judge.device))  # [N, E]
        generated = with_confidence(self.generator.generate(images), self.judge, own)
        plain = [self._caption(generated, images, place, []) for place in range(len(seen))]
        return list(zip(plain, self._distinctive(self.generator, images, own, [one.found for one in seen])))

    def _distinctive(
        self, generator: CaptionGenerator, images: Images, own: Encoded, found: list[list[Found]]
    ) -> list[Caption | None]:
        """The captions that fit the photos better than their neighbours; None if the index has no other photo.

        The index has the vectors of the neighbours, so that their files are not read. Copies are not compared with.
        """
        captions: list[Caption | None] = [None] * len(found)
        alike: dict[int, list[int]] = {}  # photos by their number of neighbours
        candidates = [some[: self.neighbours + EXTRA_CANDIDATES] for some in found]
        vectors = [torch.zeros(0, own.vectors.shape[1])] * len(found)
        rows = [np.zeros(0, np.int64)] * len(found)
        for place, some in enumerate(candidates):
            if some:
                vectors[place] = torch.from_numpy(self.library.vectors([one.content for one in some]))
                one = own.vectors[place : place + 1]
                near = nearest(_as_images(one), _as_images(vectors[place].to(one.device)), self.neighbours)
                rows[place] = near[0].cpu().numpy()
            if len(rows[place]):
                alike.setdefault(len(rows[place]), []).append(place)
        for places in alike.values():
            index = torch.tensor(places, device=own.vectors.device)
            among = Encoded(torch.cat([vectors[place] for place in places]).to(own.vectors.device))  # [A, E]
            first = np.cumsum([0, *(len(vectors[place]) for place in places[:-1])])
            around = Surroundings(own.select(index), among, np.stack([rows[p] + at for p, at in zip(places, first)]))
            part = images.select(index.to(images.features.device))
            generated = generator.generate_apart(part, self.judge, around)
            for number, place in enumerate(places):
                neighbours = [candidates[place][row] for row in rows[place].tolist()]
                captions[place] = self._caption(generated, part, number, neighbours)
        return captions

    def _caption(self, generated: GeneratedCaptions, images: Images, place: int, neighbours: list[Found]) -> Caption:
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

    def _words(self, generated: GeneratedCaptions, images: Images, place: int) -> list[Word]:
        if not self.has_attention or self.generator is None:
            words = generated.texts[place].split()
            nouns = mark_visible_nouns([words])[0] if words else np.zeros(0, bool)
            return [Word(word, bool(noun), None, None) for word, noun in zip(words, nouns)]
        attention = attention_of_caption(generated.decoded, images, place, self.generator.run.vocabulary)
        pointing = self.library.embedder.judge
        attention = pointing_attention(attention, images, place, pointing)
        return [_word(attention, place) for place in range(len(attention.words))]


def _joined(images: Sequence[Images]) -> Images:
    """Several images of one shape as one batch."""
    first = images[0]
    optional = {
        name: None if getattr(first, name) is None else torch.cat([getattr(one, name) for one in images])
        for name in ("boxes", "pixels")
    }
    return Images(
        torch.cat([one.features for one in images]),
        torch.cat([one.mask for one in images]),
        **optional,
        columns={name: torch.cat([one.columns[name] for one in images]) for name in first.columns},
    )


def _as_images(vectors: torch.Tensor) -> Images:
    """Vectors [N, E] as features of one row each."""
    return Images(vectors.unsqueeze(1), torch.ones(len(vectors), 1, dtype=torch.bool, device=vectors.device))


def _word(attention: CaptionAttention, place: int) -> Word:
    if not attention.nouns[place]:
        return Word(attention.words[place], False, None, None)
    left, top, right, bottom = attention.box_of(place).tolist()
    heat = heat_map(attention.weights[place], attention.boxes, GRID, GRID)
    return Word(attention.words[place], True, (left, top, right, bottom), heat.round(2).tolist())
