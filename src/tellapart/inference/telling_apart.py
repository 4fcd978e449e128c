"""The caption that tells an image apart from its neighbours, and is true.

Captions c are proposed by beam searches that are guided, word by word, towards what the matcher sees in the image I and
not in its neighbours, as in pragmatic decoding (Cohn-Gordon et al. 2018) but with a matcher as listener:

    value of a prefix = ln p(c|I) + strength * sum over words w of g(w, I)
    g(w, I) = z(w, I) - mean over neighbours J of z(w, J), within -2 … 2        (z: see `word_evidence`)

A bonus is given only for words that the image supports. A caption with a content word that the image does not support,
or that names one thing twice, is out. Of the others, the highest

    (1 - weight) * FLUENCY * ln p(c|I) / words + weight * ln p(I|c)

is chosen, where p(I|c) is a softmax of the matcher's scores over the image and its neighbours. A plain caption whose
p(I|c) is at least `weight` sets the image apart already, and is kept. If the matcher still
finds some neighbour as good as the image, nothing true sets the image apart: the plain caption is returned, and
`distinct` is false.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart.inference.judging import Judging, Surroundings
from tellapart.inference.proposals import Proposals
from tellapart.inference.word_evidence import WordEvidence, word_rows
from tellapart.text.function_words import content_words, is_content
from tellapart.text.vocabulary import Vocabulary

STRENGTHS = (1.0, 1.5)
"""Nats per deviation. The second search is for images that the first did not set apart."""
MOST_CONTRAST = 2.0
SUPPORTED = 1.0
"""Deviations from which an image supports a word."""
FLUENCY = 1.0
"""How much one nat per word counts against one nat of ln p(I|c), at weight 0.5."""
APART = 1.0
"""Deviations by which a neighbour must show less of a word for the word to set the image apart from it."""


@dataclass(frozen=True)
class Choice:
    """The chosen proposal of each image."""

    chosen: np.ndarray  # [I] which proposal
    posterior: np.ndarray  # [I] p(I|c) of the chosen
    distinct: np.ndarray  # [I] bool
    confused: np.ndarray  # [I, M] bool: neighbours that the matcher finds as good as the image, or better

    def replaced(self, rows: np.ndarray, other: Choice) -> Choice:
        """With the values of another choice at `rows`."""
        parts = [value.copy() for value in (self.chosen, self.posterior, self.distinct, self.confused)]
        for part, value in zip(parts, (other.chosen, other.posterior, other.distinct, other.confused)):
            part[rows] = value
        return Choice(*parts)

    def select(self, rows: np.ndarray) -> Choice:
        """Those of some images."""
        return Choice(self.chosen[rows], self.posterior[rows], self.distinct[rows], self.confused[rows])


def guide(evidence: WordEvidence, judge: Judging, around: Surroundings, vocabulary: Vocabulary) -> np.ndarray:
    """g [I, V], 0 for words that no image can confirm."""
    own, among = (
        evidence.z(judge.image_vectors(around.own)),
        evidence.z(judge.image_vectors(around.among)),
    )  # [I, W], [A, W]
    contrast = own - among[around.neighbours].mean(1)
    bounded = contrast.clip(-MOST_CONTRAST, MOST_CONTRAST)
    bounded = np.where((bounded > 0) & (own < SUPPORTED), np.float32(0), bounded)
    content = np.asarray([is_content(word) for word in evidence.words])
    return evidence.over_vocabulary(bounded * content, vocabulary)


def choose(
    proposals: Proposals, judge: Judging, around: Surroundings, weight: float, evidence: WordEvidence | None
) -> Choice:
    """The best true proposal of each image, or the plain one where nothing true sets the image apart."""
    scores = _scores(proposals, judge, around)  # [I, K, 1 + M]
    posterior = log_softmax(scores)[:, :, 0]  # [I, K] ln p(I|c)
    fluency = FLUENCY * proposals.log_probability / proposals.words
    usable = proposals.usable
    if evidence is not None:
        usable = usable & is_true(proposals, evidence, judge.image_vectors(around.own))
    value = np.where(usable, (1 - weight) * fluency + weight * posterior, -np.inf)
    row, best = np.arange(len(value)), value.argmax(1)
    apart = usable.any(1) & (scores[row, best, 0] > scores[row, best, 1:].max(1))
    enough = np.exp(posterior[:, 0]) >= weight  # of the plain caption
    chosen = np.where(apart & ~enough, best, 0)
    own = scores[row, chosen]  # [I, 1 + M]
    confused = own[:, 1:] >= own[:, :1]
    return Choice(chosen, np.exp(posterior[row, chosen]), np.asarray(~confused.any(1)), confused)


def is_true(proposals: Proposals, evidence: WordEvidence, images: np.ndarray) -> np.ndarray:
    """[I, K] bool: whether the image supports every content word of a proposal. A word without evidence is not."""
    supported = evidence.supported(evidence.z(images))  # [I, W]
    marks = []
    for row, captions in enumerate(proposals.texts):
        for caption in captions:
            words = content_words(caption.split())
            rows = word_rows(evidence, words)
            marks.append(len(rows) == len(words) and bool(supported[row, rows].all()))
    return np.asarray(marks, bool).reshape(proposals.usable.shape)


def differing_words(
    evidence: WordEvidence, caption: str, own: np.ndarray, neighbours: np.ndarray
) -> dict[str, list[int]]:
    """The content words of a caption that set an image [E] apart, and the neighbours [M, E] that show less of each."""
    words = list(dict.fromkeys(word for word in content_words(caption.split()) if word in evidence.place))
    rows = word_rows(evidence, words)
    less = evidence.z(own[None])[:, rows] - evidence.z(neighbours)[:, rows] >= APART  # [M, n]
    found = {word: less[:, column].nonzero()[0].tolist() for column, word in enumerate(words)}
    return {word: places for word, places in found.items() if places}


def _scores(proposals: Proposals, judge: Judging, around: Surroundings) -> np.ndarray:
    """The judge's scores over temperature of each proposal with its image and the neighbours [I, K, 1 + M]."""
    different = {text: row for row, text in enumerate(dict.fromkeys(t for texts in proposals.texts for t in texts))}
    columns = np.asarray([[different[text] for text in texts] for texts in proposals.texts])  # [I, K]
    own, others = judge.caption_scores(list(different), around)  # [I, C], [A, C]
    own = own[np.arange(len(columns))[:, None], columns]  # [I, K]
    others = others[around.neighbours[:, None], columns[:, :, None]]  # [I, K, M]
    return np.concatenate([own[:, :, None], others], 2)


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    shifted = scores - scores.max(-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))
