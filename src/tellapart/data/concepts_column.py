"""Visual concepts as columns of a pack: word ids of the concepts of images and captions, padded with PAD.

`concepts` [I, k] has the concepts of images, from the pack's detections; `sentence-concepts` [C, k] those of captions.
Images keep their k concepts of highest score, the highest last, since a recurrent encoder remembers the end of its
input best; captions keep their first k. Training shuffles them, evaluation reads them in this order.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tellapart.core.errors import InputError, Step
from tellapart.data.pack import Pack
from tellapart.text.concepts import ConceptDictionary, Found, describe_unknown
from tellapart.text.vocabulary import PAD, Vocabulary

IMAGE_CONCEPTS = "concepts"
IMAGE_SCORES = "concept-scores"
SENTENCE_CONCEPTS = "sentence-concepts"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ConceptReport:
    """How many images and captions have concepts, and which labels and concepts could not be used."""

    images: int = 0
    images_without: int = 0
    """Images without a concept; their captions come from the language model alone."""
    captions: int = 0
    captions_without: int = 0
    unknown: dict[str, int] = field(default_factory=dict)
    """Detector labels that are not in the dictionary, with the number of images that have them."""
    not_in_vocabulary: tuple[str, ...] = ()
    """Concepts that are not in the vocabulary."""

    def sentences(self) -> list[str]:
        """The report in sentences, for printing."""
        lines = []
        if self.images:
            lines.append(f"{self.images_without} of {self.images} images have no concept.")
        if self.captions:
            lines.append(f"{self.captions_without} of {self.captions} captions have no concept.")
        if self.unknown:
            lines.append(describe_unknown(self.unknown.items()))
        if self.not_in_vocabulary:
            lines.append(
                f"{len(self.not_in_vocabulary)} concepts are not in the vocabulary "
                f"({', '.join(self.not_in_vocabulary[:10])}); "
                "join the pack with a corpus, which adds the concepts to the vocabulary."
            )
        return lines


def concept_rows(concepts: Sequence[Sequence[str]], vocabulary: Vocabulary, most: int) -> np.ndarray:
    """Word ids [N, most] of lists of concepts, padded with PAD; concepts outside the vocabulary are dropped."""
    ids = vocabulary.ids
    known = [[ids[concept] for concept in row if concept in ids][:most] for row in concepts]
    return _padded(known, most, PAD, np.int32)


def _padded(rows: Sequence[Sequence[float]], most: int, fill: float, kind: type[np.generic]) -> np.ndarray:
    padded = np.full((len(rows), most), fill, dtype=kind)
    lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
    padded[np.arange(most)[None, :] < lengths[:, None]] = [value for row in rows for value in row]
    return padded


def image_concepts(pack: Pack, dictionary: ConceptDictionary, least_score: float, most: int) -> list[Found]:
    """The concepts of each image, highest score first; none for an image without detections."""
    nothing = Found((), ())
    found = [nothing] * len(pack.images)
    for row, detections in pack.detections.items():
        found[row] = dictionary.of_detections(detections.labels, detections.scores, least_score, most)
    return found


def check_concepts(pack: Pack, most: int) -> None:
    """Raise an InputError if concepts cannot be read from the pack."""
    if most < 1:
        raise InputError(f"`most` must be at least 1 concept, not {most}.")
    if pack.images and not pack.detections:
        raise InputError(
            f"{pack.folder} has no detections to read concepts from; prepare it with a detections file, or extract "
            "regions with a detector.",
            Step("extract", pack.folder, kind="regions", regions_from="DETECTOR"),
        )


def annotate_concepts(
    pack: Pack, dictionary: ConceptDictionary, least_score: float = 0.3, most: int = 5
) -> ConceptReport:
    """Store the columns in the pack; returns what could not be used. Unknown labels are also logged as a warning."""
    check_concepts(pack, most)
    vocabulary = pack.vocabulary
    found = image_concepts(pack, dictionary, least_score, most)
    unknown = dict(Counter(label for image in found for label in image.unknown))
    of_captions = [dictionary.of_sentence(caption.words) for caption in pack.captions]
    facts = {
        "dictionary": list(dictionary.labels),
        "multiword": dictionary.multiword,
        "synonyms": {label: list(words) for label, words in dictionary.synonyms.items()},
        "least_score": least_score,
        "most": most,
        "unknown": unknown,
    }
    images = concept_rows([image.concepts[::-1] for image in found], vocabulary, most)
    scored = [
        [score for concept, score in zip(image.concepts[::-1], image.scores[::-1]) if concept in vocabulary.ids]
        for image in found
    ]
    captions = concept_rows(of_captions, vocabulary, most)
    pack.save_column(IMAGE_CONCEPTS, images, "image", facts)
    pack.save_column(IMAGE_SCORES, _padded(scored, most, 0.0, np.float32), "image", {"least_score": least_score})
    pack.save_column(SENTENCE_CONCEPTS, captions, "caption", facts)
    report = ConceptReport(
        len(images),
        int((images == PAD).all(1).sum()),
        len(captions),
        int((captions == PAD).all(1).sum()),
        unknown,
        tuple(concept for concept in dictionary.concepts if concept not in vocabulary.ids),
    )
    if unknown:
        logger.warning("%s", describe_unknown(unknown.items()))
    return report


def stored_dictionary(pack: Pack) -> ConceptDictionary:
    """The dictionary with which a pack's concepts were computed."""
    facts = pack.column(IMAGE_CONCEPTS).facts
    synonyms = {label: tuple(words) for label, words in facts["synonyms"].items()}
    return ConceptDictionary(tuple(facts["dictionary"]), synonyms, facts["multiword"])
