"""Generated captions with what is known about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tellapart.inference.caption import Caption, Difference
from tellapart.inference.caption_attention import CaptionAttention
from tellapart.inference.confidence import calibrated, confidences
from tellapart.inference.judging import Encodings, Judging
from tellapart.inference.light.decoded import Captions
from tellapart.text.function_words import content_words
from tellapart.text.vocabulary import Vocabulary
from tellapart.text.written import as_written

MAX_WORDS = 20
BEAM, DISTINCTIVE_BEAM, GUIDED_BEAM = 3, 10, 10


@dataclass(frozen=True)
class GeneratedCaptions:
    """One caption per image; `decoded` has the attention of its words."""

    texts: list[str]
    decoded: Captions  # [I] rows
    log_probability: list[float]
    """ln p(caption | image)."""
    likeliest: list[str] | None = None
    """The plain captions, if distinctive ones were generated."""
    posterior: list[float] | None = None
    """p(image | caption) among the image and its neighbours, 0 … 1."""
    distinct: list[bool] | None = None
    """Whether each caption fits its image better than every neighbour."""
    differing: list[dict[str, list[int]]] | None = None
    """Words that set an image apart, each with the neighbours (places among its own) that show less of it."""
    confused: list[list[int]] | None = None
    """Neighbours (places among an image's own) that the caption fits at least as well."""
    confidence: list[float] | None = None
    """Probability that each caption is true; None for models that it was not calibrated for."""
    sure: list[bool] | None = None
    """Whether the confidence reaches its threshold."""


def generated(decoded: Captions, vocabulary: Vocabulary) -> GeneratedCaptions:
    """Decoded captions with their texts."""
    texts = [vocabulary.decode(row) for row in decoded.tokens.tolist()]
    return GeneratedCaptions(texts, decoded, decoded.log_probability.tolist())


def with_confidence(
    captions: GeneratedCaptions, judge: Judging, own: Encodings, against: bool = False
) -> GeneratedCaptions:
    """The same captions with their confidence, if it was calibrated for the judge; own: its encodings of the images.

    against: whether the captions were chosen against look-alikes.
    """
    if judge.evidence is None:
        return captions
    images, chance = judge.image_vectors(own), captions.decoded.log_probability
    found = confidences(judge, judge.evidence, captions.texts, chance, images)
    found = calibrated(judge.evidence, found, against)
    apart = against and judge.evidence.against is not None
    threshold = judge.evidence.settings["sure_against" if apart else "sure"]
    return replace(captions, confidence=found, sure=[value >= threshold for value in found])


def new_words(text: str, plain: str, neighbours: list[int], confused: list[int]) -> dict[str, list[int]]:
    """The content words that the plain caption lacks, each with the neighbours that the caption does not fit."""
    others = [place for place in neighbours if place not in confused]
    new = dict.fromkeys(word for word in content_words(text.split()) if word not in plain.split())
    return {word: others for word in new} if others else {}


def caption_of(
    captions: GeneratedCaptions,
    row: int,
    neighbours: Sequence[str | None],
    image: str | None,
    attention: CaptionAttention | None = None,
) -> Caption:
    """One of the captions as users get it. neighbours: names of the images that it was compared with."""
    differing = captions.differing[row] if captions.differing else {}
    return Caption(
        as_written(captions.texts[row]),
        captions.log_probability[row],
        image,
        as_written(captions.likeliest[row]) if captions.likeliest else None,
        captions.posterior[row] if captions.posterior else None,
        distinct=captions.distinct[row] if captions.distinct else None,
        differences=tuple(
            Difference(word, tuple(neighbours[place] for place in places)) for word, places in differing.items()
        ),
        neighbours=tuple(neighbours),
        confused_with=tuple(neighbours[place] for place in captions.confused[row]) if captions.confused else (),
        confidence=captions.confidence[row] if captions.confidence else None,
        sure=captions.sure[row] if captions.sure else None,
        attention=attention,
    )
