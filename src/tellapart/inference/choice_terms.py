"""Captions of images with all that their choice depends on, and what became of them, to fit the choice on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellapart.inference.agreement import agreements
from tellapart.inference.apart import Proposed
from tellapart.inference.fit_choice import Outcomes, Terms
from tellapart.inference.judging import Judging, Surroundings
from tellapart.inference.telling_apart import proposal_scores
from tellapart.inference.word_evidence import UNKNOWN, WordEvidence
from tellapart.metrics.captions.evaluate import evaluate
from tellapart.metrics.captions.ptb.tokenizer import tokenize
from tellapart.text.concepts import ConceptDictionary
from tellapart.text.confirmed import claims, confirmed_words


@dataclass(frozen=True)
class Candidates:
    """K captions per image, the plain one first, with the chooser's scores."""

    texts: list[list[str]]  # [I][K]
    typical: list[list[str]]
    usable: np.ndarray  # [I, K] bool
    log_probability: np.ndarray  # [I, K]
    words: np.ndarray  # [I, K] with END
    scores: np.ndarray  # [I, K, 1 + M + L]
    neighbours: int

    @classmethod
    def of(cls, found: Proposed, judge: Judging, around: Surroundings) -> Candidates:
        """Those that searches found, all scored by the judge."""
        given = found.proposals
        scores = proposal_scores(given, judge, around, given.usable)
        parts = (given.texts, found.typical, given.usable, given.log_probability, given.words, scores)
        return cls(*parts, around.neighbours.shape[1])


def joined_candidates(parts: Sequence[Candidates]) -> Candidates:
    """Those of several batches of images."""
    return Candidates(
        texts=[one for part in parts for one in part.texts],
        typical=[one for part in parts for one in part.typical],
        usable=np.concatenate([part.usable for part in parts]),
        log_probability=np.concatenate([part.log_probability for part in parts]),
        words=np.concatenate([part.words for part in parts]),
        scores=np.concatenate([part.scores for part in parts]),
        neighbours=parts[0].neighbours,
    )


@dataclass(frozen=True)
class Truth:
    """What a judge's evidence says of captions, all [I, K]."""

    total: np.ndarray  # sum of ln p(word is true)
    least_object: np.ndarray  # the least p(word is true) of its objects, 1 without one
    least_word: np.ndarray  # the same of other content words


def truth_of(found: Candidates, evidence: WordEvidence, images: np.ndarray) -> Truth:
    """What evidence says of the candidates; images: their vectors [I, E]."""
    chances = evidence.probabilities(images)  # [I, W]
    truth, objects, words = [], [], []
    for chance, captions in zip(chances, found.texts):
        for caption in captions:
            named = claims(caption)
            known = [evidence.place.get(word, -1) for word in named]
            each = [float(chance[row]) if row >= 0 else UNKNOWN for row in known]
            marks = [row >= 0 and evidence.is_object[row] > 0 for row in known]
            truth.append(float(np.sum(np.log(each))))
            objects.append(min((p for p, mark in zip(each, marks) if mark), default=1.0))
            words.append(min((p for p, mark in zip(each, marks) if not mark), default=1.0))
    return Truth(*(np.asarray(values).reshape(found.usable.shape) for values in (truth, objects, words)))


def terms_of(
    found: Candidates, evidence: WordEvidence, images: np.ndarray, second: tuple[WordEvidence, np.ndarray] | None = None
) -> Terms:
    """The terms of the choice; images: their vectors [I, E]. second: the same of a second judge."""
    agreed = [agreements(texts, others, evidence.rarity) for texts, others in zip(found.texts, found.typical)]
    own, one = truth_of(found, evidence, images), np.ones(found.usable.shape)
    other = Truth(0 * one, one, one) if second is None else truth_of(found, *second)
    fluency = np.where(found.usable, found.log_probability / found.words, 0.0)
    return Terms(
        found.usable,
        found.scores,
        found.neighbours,
        agreement=np.asarray(agreed),
        truth=own.total,
        fluency=fluency,
        least_object=own.least_object,
        least_word=own.least_word,
        second_truth=other.total,
        second_object=other.least_object,
        second_word=other.least_word,
    )


def outcomes_of(texts: Sequence[Sequence[str]], references: Sequence[Sequence[str]], right: np.ndarray) -> Outcomes:
    """CIDEr, wrong objects and unnamed words of captions [I][K] by references, which are tokenised; right [I, K]: the
    judge's picks."""
    dictionary = ConceptDictionary.coco()
    seen = [set().union(*(dictionary.of_sentence(one.split()) for one in group)) for group in references]
    columns: list[tuple[Sequence[float], ...]] = []
    for captions in zip(*texts):
        lines = tokenize(list(captions))
        cider = evaluate(lines, references, ("CIDEr",), tokenized=True)["CIDEr"].each
        wrong = [not set(dictionary.of_sentence(line.split())) <= named for line, named in zip(lines, seen)]
        unnamed = [_unnamed(line, group) for line, group in zip(lines, references)]
        columns.append((cider.tolist(), wrong, unnamed))
    parts = (np.stack([np.asarray(one[part], float) for one in columns], 1) for part in range(3))
    return Outcomes(right.astype(float), *parts)


def _unnamed(caption: str, references: Sequence[str]) -> float:
    words = claims(caption)
    return float((~confirmed_words(words, references)).sum()) if words else 0.0
