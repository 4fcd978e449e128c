"""The caption that tells an image apart from its neighbours, and is true.

Captions c are proposed by three beam searches. One is free. The others are guided, word by word, towards what the
matcher sees in the image I and not in its neighbours, as in pragmatic decoding (Cohn-Gordon et al. 2018) but with a
matcher as listener, with strength STRENGTH and MORE_STRENGTH:

    value of a prefix = ln p(c|I) + strength * sum over words w of g(w, I)
    g(w, I) = z(w, I) - sum over neighbours J of q(J) z(w, J), within -2 … 2        (z: see `word_evidence`)

q(J) is the share of neighbour J when the matcher picks one of them by the plain caption. A bonus is given only for
words that the image shows; a word that it does not support costs UNSUPPORTED. A caption with such a word, or that names
one thing twice, is out, unless it is the plain one. Of the others, the highest

    weight * ln p'(I|c) + (1 - weight) * (agreement * a(c) + truth * t(c) + second_truth * t2(c)
                                          + fluency * ln p(c|I) / words)

is chosen. p'(I|c) is a softmax of `softness` times the matcher's scores over the image, its neighbours and further
similar images; a is the agreement with the captions of the free search (see `agreement`); t is the sum of ln p(w is
true) over the content words and amounts, as if they were independent: a caption that says more is wrong more often. A
second matcher, on another backbone, must support the words, too; t2 is its t. The weights belong to the evidence (see
`fit_choice`). If the matcher still finds some neighbour as good as the image, `distinct` is false; if it finds as many
of them as with the plain caption, nothing true sets the image apart, and the plain caption is returned. A matcher
without evidence of words has the value weight * ln p(I|c) + (1 - weight) * ln p(c|I) / words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tellapart.inference.agreement import agreements
from tellapart.inference.judging import Judged, Judging, Surroundings
from tellapart.inference.proposals import Proposals
from tellapart.inference.word_evidence import UNKNOWN, WordEvidence, word_rows
from tellapart.text.confirmed import claims, is_claim
from tellapart.text.function_words import content_words
from tellapart.text.vocabulary import Vocabulary

STRENGTH, MORE_STRENGTH = 1.0, 2.0
"""Nats per deviation, of the guided searches."""
MOST_CONTRAST = 2.0
SUPPORTED = 1.0
"""Deviations from which an image supports a word."""
UNSUPPORTED = -6.0
"""Nats of a content word that the image does not support."""
FIRST = 3
"""Proposals per image that are scored before it is known which others could be better."""
SECOND = "second_"
"""Beginning of the names of a second judge's weight and thresholds."""
APART = 1.0
"""Deviations by which a neighbour must show less of a word for the word to set the image apart from it."""


@dataclass(frozen=True)
class Choice:
    """The chosen proposal of each image."""

    chosen: np.ndarray  # [I] which proposal
    posterior: np.ndarray  # [I] p(I|c) of the chosen
    distinct: np.ndarray  # [I] bool
    confused: np.ndarray  # [I, M] bool: neighbours that the matcher finds as good as the image, or better


def guide(
    evidence: WordEvidence,
    judge: Judging,
    around: Surroundings,
    vocabulary: Vocabulary,
    shares: np.ndarray,
    strength: float = STRENGTH,
    second: Judged | None = None,
) -> np.ndarray:
    """Nats per word [I, V]: strength * g, or UNSUPPORTED; 0 for words that no image can confirm. shares: q [I, M].
    second: a judge that must support the words, too."""
    own, among = (
        evidence.z(judge.image_vectors(around.own)),
        evidence.z(judge.image_vectors(around.among)),
    )  # [I, W], [A, W]
    contrast = own - np.einsum("im,imw->iw", shares, among[around.neighbours])
    bounded = contrast.clip(-MOST_CONTRAST, MOST_CONTRAST)
    bounded = np.where((bounded > 0) & (own < SUPPORTED), np.float32(0), bounded)
    supported = evidence.supported(evidence.probabilities(judge.image_vectors(around.own)))
    if second is not None and second.judge.evidence is not None and SECOND + "truth" in evidence.settings:
        supported &= _also_supported(evidence, second.judge.evidence, second.judge.image_vectors(second.images))
    nats = np.where(supported, strength * bounded, UNSUPPORTED).astype(np.float32)
    claimed = np.asarray([is_claim(word) for word in evidence.words])
    return evidence.over_vocabulary(nats * claimed, vocabulary)


def _also_supported(evidence: WordEvidence, other: WordEvidence, images: np.ndarray) -> np.ndarray:
    """[I, W] bool: whether images [I, E] support the words of `evidence` by the evidence of a second judge."""
    limits = {name: evidence.settings[SECOND + name] for name in ("object", "word")}
    supported = other.supported(other.probabilities(images), limits)
    known = np.asarray([other.place.get(word, -1) for word in evidence.words])
    return np.asarray(supported[:, known] & (known >= 0))


def confusion(judge: Judging, captions: Sequence[str], around: Surroundings) -> np.ndarray:
    """q [I, M]: the share of each neighbour when the judge picks one of them by the caption of the image."""
    _, scores = judge.caption_scores(captions, around)  # [A, I]
    return np.asarray(np.exp(log_softmax(scores[around.neighbours, np.arange(len(captions))[:, None]])))


def choose(
    proposals: Proposals,
    judge: Judging,
    around: Surroundings,
    weight: float,
    evidence: WordEvidence | None,
    typical: Sequence[Sequence[str]],
    second: Judged | None = None,
) -> Choice:
    """The best true proposal of each image, or the plain one where that one sets the image apart from as many.

    typical: captions of each image that a free search finds. second: a judge that must support the words, too.
    """
    usable, likely, softness = proposals.usable, proposals.log_probability / proposals.words, 1.0
    if evidence is not None:
        true, support = word_support(proposals, evidence, judge.image_vectors(around.own))
        agreed = [agreements(texts, others, evidence.rarity) for texts, others in zip(proposals.texts, typical)]
        weights = evidence.settings
        likely = weights["agreement"] * np.asarray(agreed) + weights["truth"] * support + weights["fluency"] * likely
        if second is not None and second.judge.evidence is not None and SECOND + "truth" in weights:
            limits = {name: weights[SECOND + name] for name in ("object", "word")}
            images = second.judge.image_vectors(second.images)
            also_true, also_support = word_support(proposals, second.judge.evidence, images, limits)
            true, likely = true & also_true, likely + weights[SECOND + "truth"] * also_support
        true[:, 0] = True  # the plain caption competes even so: it is the answer if nothing is better
        usable, softness = usable & true, weights["softness"]
    bound = np.where(usable, (1 - weight) * likely, -np.inf)
    scores, value = _valued(proposals, judge, around, bound, weight, softness)
    row, best = np.arange(len(value)), value.argmax(1)
    scores = scores[:, :, : 1 + around.neighbours.shape[1]]
    lost = (scores[:, :, 1:] >= scores[:, :, :1]).sum(2)  # [I, K] neighbours that fit as well
    apart = usable.any(1) & ((lost[row, best] == 0) | (lost[row, best] < lost[:, 0]))
    chosen = np.where(apart, best, 0)
    own = scores[row, chosen]  # [I, 1 + M]
    confused = own[:, 1:] >= own[:, :1]
    return Choice(chosen, np.exp(log_softmax(own)[:, 0]), np.asarray(~confused.any(1)), confused)


def word_support(
    proposals: Proposals, evidence: WordEvidence, images: np.ndarray, limits: Mapping[str, float] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Whether the image supports every content word and amount of a proposal, and the sum of their ln p(word is true),
    both [I, K].

    A word without evidence is not supported. limits: thresholds `object` and `word`, if not those of the evidence.
    """
    probabilities = evidence.probabilities(images)
    supported, chance = evidence.supported(probabilities, limits), np.log(probabilities)  # [I, W]
    marks, sums = [], []
    for row, captions in enumerate(proposals.texts):
        for caption in captions:
            words = claims(caption)
            rows = word_rows(evidence, words)
            unknown = len(words) - len(rows)
            marks.append(not unknown and bool(supported[row, rows].all()))
            sums.append(chance[row, rows].sum() + unknown * math.log(UNKNOWN))
    shape = proposals.usable.shape
    return np.asarray(marks, bool).reshape(shape), np.asarray(sums).reshape(shape)


def differing_words(
    evidence: WordEvidence, caption: str, own: np.ndarray, neighbours: np.ndarray
) -> dict[str, list[int]]:
    """The content words of a caption that set an image [E] apart, and the neighbours [M, E] that show less of each."""
    words = list(dict.fromkeys(word for word in content_words(caption.split()) if word in evidence.place))
    rows = word_rows(evidence, words)
    less = evidence.z(own[None], rows) - evidence.z(neighbours, rows) >= APART  # [M, n]
    found = {word: less[:, column].nonzero()[0].tolist() for column, word in enumerate(words)}
    return {word: places for word, places in found.items() if places}


def _valued(
    proposals: Proposals, judge: Judging, around: Surroundings, bound: np.ndarray, weight: float, softness: float
) -> tuple[np.ndarray, np.ndarray]:
    """The judge's scores [I, K, 1 + M + L] and the values [I, K] of proposals; -inf where one cannot be the best.

    ln p'(I|c) is at most 0, so no value exceeds its bound [I, K]. The plain proposal and the FIRST with the highest
    bounds are scored first; then only those whose bound reaches the best value so far.
    """
    usable = ~np.isinf(bound)
    rank = (-bound).argsort(1, kind="stable").argsort(1, kind="stable")
    wanted, seen = usable & (rank < FIRST), np.zeros_like(usable)
    wanted[:, 0] = True
    scores = np.zeros((*usable.shape, 1 + around.everyone.shape[1]), np.float32)
    value = np.full(usable.shape, -np.inf)
    while wanted.any():
        scores = np.where(wanted[:, :, None], proposal_scores(proposals, judge, around, wanted), scores)
        seen |= wanted
        value = np.where(seen, weight * log_softmax(softness * scores)[:, :, 0] + bound, -np.inf)
        wanted = usable & ~seen & (bound >= value.max(1, keepdims=True))
    return scores, value


def proposal_scores(proposals: Proposals, judge: Judging, around: Surroundings, wanted: np.ndarray) -> np.ndarray:
    """The judge's scores over temperature of each wanted [I, K] proposal with its image, the neighbours and further
    images [I, K, 1 + M + L]; arbitrary for the others."""
    pairs = list(zip(proposals.texts, wanted.tolist()))
    texts = (text for texts, uses in pairs for text, use in zip(texts, uses) if use)
    different = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    columns = np.asarray([[different[t] if use else 0 for t, use in zip(texts, uses)] for texts, uses in pairs])
    own, others = judge.caption_scores(list(different), around)  # [I, C], [A, C]
    own = own[np.arange(len(columns))[:, None], columns]  # [I, K]
    others = others[around.everyone[:, None], columns[:, :, None]]  # [I, K, M + L]
    return np.concatenate([own[:, :, None], others], 2)


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    shifted = scores - scores.max(-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))
