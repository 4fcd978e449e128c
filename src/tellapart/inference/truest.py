"""The plain caption of an image: one that is likely by its captioner, and true by what a matcher sees.

The likeliest caption often names a detail that is not there. Of all captions of a beam the highest

    agreement * a(c) + truth * t(c) + fluency * ln p(c|I) / words + rare * r(c) + length * words

is chosen among those whose content words the image supports; the likeliest one competes even so. a is the agreement
with the beam (see `agreement`), t the sum of ln p(w is true) over content words and amounts. Both favour captions that
say little; r, the rarity of the rarest word beyond COMMON nats, and the length make up for that. The weights belong to
the evidence (see `fit_truest`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tellapart.inference.agreement import UNSEEN, agreements
from tellapart.inference.judging import Judging
from tellapart.inference.light.decoded import Captions
from tellapart.inference.proposals import Proposals, join_proposals
from tellapart.inference.telling_apart import word_support
from tellapart.inference.word_evidence import WordEvidence
from tellapart.text.vocabulary import Vocabulary

TRUE_BEAM = 5
"""Captions of each image to choose from."""
COMMON = 4.0
"""Nats: words that more than one image in e^4 = 55 has are common."""
PREFIX = "plain_"
WEIGHTS = ("agreement", "truth", "fluency", "rare", "length")
"""Names of the weights; in the settings of the evidence they begin with PREFIX."""


@dataclass(frozen=True)
class PlainTerms:
    """What the choice among K captions per image depends on, the likeliest first; all [I, K]."""

    usable: np.ndarray  # bool: no duplicate, names nothing twice, and supported; the first one always
    agreement: np.ndarray
    truth: np.ndarray  # sum of ln p(word is true)
    fluency: np.ndarray  # ln p(c|I) per word
    rare: np.ndarray
    length: np.ndarray  # words


def evidence_for_plain(judge: Judging | None) -> WordEvidence | None:
    """The evidence by which a judge chooses plain captions; None for one that was not fitted for it."""
    evidence = None if judge is None else judge.evidence
    return evidence if evidence is not None and PREFIX + WEIGHTS[0] in evidence.settings else None


def truest(found: Captions, evidence: WordEvidence, images: np.ndarray, vocabulary: Vocabulary) -> Captions:
    """One caption of each image [I, E] from all captions of a beam, image by image."""
    proposals = join_proposals([found], len(images), vocabulary)
    weights = {name: evidence.settings[PREFIX + name] for name in WEIGHTS}
    return proposals.select(chosen_plain(plain_terms(proposals, evidence, images), weights))


def plain_terms(proposals: Proposals, evidence: WordEvidence, images: np.ndarray) -> PlainTerms:
    """The terms of the choice; images: their vectors [I, E]."""
    supported, truth = word_support(proposals, evidence, images)
    supported[:, 0] = True
    agreed = [agreements(texts, texts, evidence.rarity) for texts in proposals.texts]
    rare = [[rarity(text.split(), evidence.rarity) for text in texts] for texts in proposals.texts]
    usable = proposals.usable & supported
    fluency = np.where(usable, proposals.log_probability / proposals.words, 0.0)
    length = [[len(text.split()) for text in texts] for texts in proposals.texts]
    return PlainTerms(usable, np.asarray(agreed), truth, fluency, np.asarray(rare), np.asarray(length, float))


def rarity(words: Sequence[str], rarities: Mapping[str, float]) -> float:
    """How rare the rarest word is, beyond COMMON.

    >>> rarity(["a", "dog"], {"a": 0.0, "dog": 3.0}), rarity(["a", "zebra"], {"a": 0.0, "zebra": 4.5})
    (0.0, 0.5)
    """
    return max(0.0, max((rarities.get(word, UNSEEN) for word in words), default=0.0) - COMMON)


def chosen_plain(terms: PlainTerms, weights: Mapping[str, float]) -> np.ndarray:
    """Which caption of each image is chosen [I]."""
    value = sum(weights[name] * getattr(terms, name) for name in WEIGHTS)
    return np.asarray(np.where(terms.usable, value, -np.inf).argmax(1))
