"""True captions that tell images apart from their neighbours: the searches, the choice, and what is said about it.

The same for every captioner and matcher: they give `Captions` and scores as arrays (see `telling_apart`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tellapart.inference.generated import GeneratedCaptions, new_words, with_confidence
from tellapart.inference.judging import Judged, Judging, Surroundings
from tellapart.inference.light.decoded import Captions
from tellapart.inference.proposals import Proposals, join_proposals
from tellapart.inference.telling_apart import MORE_STRENGTH, STRENGTH, choose, confusion, differing_words, guide
from tellapart.inference.truest import TRUE_BEAM, evidence_for_plain, truest
from tellapart.text.vocabulary import Vocabulary


class Searches(Protocol):
    """A captioner's searches for captions of some images."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Its words."""
        ...

    @property
    def is_bundled(self) -> bool:
        """Whether the captioner is the one in the package, for which the evidence of words was fitted."""
        ...

    def plain(self) -> Captions:
        """The likeliest caption of each image."""
        ...

    def whole_beam(self, beam: int) -> Captions:
        """All captions of a beam of each image, without repeated pairs of words."""
        ...

    def guided(self, rows: np.ndarray, preferred: np.ndarray | None, beam: int) -> Captions:
        """All captions of a beam of these images, without repeated pairs of words; preferred: a guide [rows, V]."""
        ...


def captions_apart(
    searches: Searches, judge: Judging, around: Surroundings, beam: int, weight: float, second: Judged | None = None
) -> GeneratedCaptions:
    """A caption of each image that tells it apart, scored by a judge; second: another
    judge, which chooses plain captions and must support the words of the others."""
    evidence = judge.evidence
    found = propose(searches, judge, around, beam, second)
    choice = choose(found.proposals, judge, around, weight, evidence, typical=found.typical, second=second)
    plain, decoded = found.plain, found.proposals.select(choice.chosen)
    texts, likeliest = ([searches.vocabulary.decode(row) for row in part.tokens.tolist()] for part in (decoded, plain))
    confused = [row.nonzero()[0].tolist() for row in choice.confused]
    everyone = list(range(around.neighbours.shape[1]))
    if evidence is None:
        differing = [new_words(text, old, everyone, some) for text, old, some in zip(texts, likeliest, confused)]
    else:
        vectors = judge.image_vectors(around.among)[around.neighbours]  # [I, M, E]
        own = judge.image_vectors(around.own)
        differing = [differing_words(evidence, *one) for one in zip(texts, own, vectors)]
    generated = GeneratedCaptions(
        texts,
        decoded,
        decoded.log_probability.tolist(),
        likeliest,
        choice.posterior.tolist(),
        distinct=choice.distinct.tolist(),
        differing=differing,
        confused=confused,
    )
    return with_confidence(generated, judge, around.own, against=True)


@dataclass(frozen=True)
class Proposed:
    """What searches found for some images."""

    plain: Captions  # [I]
    proposals: Proposals  # K per image, the plain caption first
    typical: list[list[str]]
    """Captions of each image that a free search finds."""


def propose(
    searches: Searches, judge: Judging, around: Surroundings, beam: int, second: Judged | None = None
) -> Proposed:
    """Captions to choose from: the plain ones, those of a free search, and those of two guided ones."""
    evidence, vocabulary, rows = judge.evidence, searches.vocabulary, np.arange(len(around.neighbours))
    plain = plain_captions(searches, second or Judged(judge, around.own))
    free = searches.guided(rows, None, beam)
    listed = [vocabulary.decode(row) for row in free.tokens.tolist()]
    typical = [listed[first : first + beam] for first in range(0, len(listed), beam)]
    parts = [plain, free]
    if evidence is not None:
        shares = confusion(judge, [vocabulary.decode(row) for row in plain.tokens.tolist()], around)
        for strength in (STRENGTH, MORE_STRENGTH):
            preferred = guide(evidence, judge, around, vocabulary, shares, strength=strength, second=second)
            parts.append(searches.guided(rows, preferred, beam))
    return Proposed(plain, join_proposals(parts, len(rows), vocabulary), typical)


def plain_captions(searches: Searches, by: Judged) -> Captions:
    """The plain caption of each image: what it gets when it is not compared with others."""
    evidence = evidence_for_plain(by.judge) if searches.is_bundled else None
    if evidence is None:
        return searches.plain()
    found = searches.whole_beam(TRUE_BEAM)
    return truest(found, evidence, by.judge.image_vectors(by.images), searches.vocabulary)
