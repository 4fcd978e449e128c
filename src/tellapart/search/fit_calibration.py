"""Fitting a matcher's calibration on photos that it was not trained on and that people have captioned.

Queries are single words, and phrases cut from captions. A photo counts as a match if its captions together have two
thirds of the words of the query that name something, as singulars: both of two, two of three. Five captions do not name
everything, and use other words for the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tellapart.inference.logistic import fit_logistic
from tellapart.search.answer import share_of_words, wanted_words
from tellapart.search.calibration import Background, Calibration, QueryCentre, more_words
from tellapart.search.lexicon import words_of
from tellapart.text.lemmas import noun_lemma

FEATURES = ("cosine", "standardised", "caption", "words")
ENOUGH = 2 / 3 - 1e-6
DIRECTIONS = 64
"""Principal directions of the background."""
NEAREST, OTHERS = 15, 5
"""Photos per query to fit on: what a search shows, and some that it does not."""
CLEAR, SHOWN = 0.5, 0.1
PHRASE_WORDS = (2, 3, 4, 6)


@dataclass(frozen=True)
class CaptionedPhotos:
    """Photos with vectors [N, E], people's captions and generated ones."""

    vectors: np.ndarray
    references: Sequence[Sequence[str]]
    captions: Sequence[str]


def fit_calibration(
    photos: CaptionedPhotos,
    training: Sequence[str],
    encode: Callable[[Sequence[str]], np.ndarray],
    queries: int = 600,
    seed: int = 0,
) -> Calibration:
    """The calibration of the matcher that made the vectors. training: captions that it was trained on, for centres."""
    random = np.random.default_rng(seed)
    counts = Counter(word for caption in training for word in wanted_words(caption))
    common = [word for word, _ in counts.most_common(1200)]
    centre = QueryCentre(encode([f"a {word}" for word in common]).mean(0), encode(list(training)).mean(0))
    background = fit_background(photos.vectors)
    named = [{noun_lemma(word) for text in group for word in words_of(text)} for group in photos.references]
    texts = example_queries(photos.references, common, queries, random)
    examples, labels = [], []
    for text, vector in zip(texts, encode(texts)):
        wanted = wanted_words(text)
        if not wanted:
            continue
        match = np.asarray([sum(word in one for word in wanted) >= ENOUGH * len(wanted) for one in named])  # [N]
        query = centre.centred(vector, len(words_of(text)))
        cosine = photos.vectors @ query  # [N]
        places = np.argsort(-cosine)[:NEAREST]
        places = np.concatenate([places, random.choice(len(cosine), OTHERS)])
        caption = [share_of_words(wanted, photos.captions[place]) ** 2 for place in places]
        z = background.standardised(query, cosine[places])
        words = np.full(len(places), more_words(len(wanted)))
        examples.append(np.stack([cosine[places], z, np.asarray(caption), words], 1))
        labels.append(match[places])
    model = fit_logistic(FEATURES, np.concatenate(examples), np.concatenate(labels).astype(float))
    coefficients = {"constant": model.bias, **dict(zip(FEATURES, model.weights))}
    return Calibration(centre, background, coefficients, CLEAR, SHOWN)


def fit_background(vectors: np.ndarray) -> Background:
    """Mean, principal directions and remaining variance of photos [N, E]."""
    mean = vectors.mean(0)
    values, directions = np.linalg.eigh(np.cov((vectors - mean).T))  # ascending
    kept = min(DIRECTIONS, len(values))
    basis = (directions[:, -kept:] * np.sqrt(values[-kept:].clip(0))).T  # [K, E]
    return Background(mean, basis, float(values[:-kept].sum() / vectors.shape[1]))


def example_queries(
    references: Sequence[Sequence[str]], common: Sequence[str], count: int, random: np.random.Generator
) -> list[str]:
    """Words with and without an article, and phrases cut from captions, in equal numbers of each length."""
    each = count // (1 + len(PHRASE_WORDS))
    single = random.choice(common, min(each, len(common)), replace=False).tolist()
    texts = [f"a {word}" if place % 2 else str(word) for place, word in enumerate(single)]
    for length in PHRASE_WORDS:
        for place in random.choice(len(references), each).tolist():
            words = references[place][0].rstrip(". ").split()
            first = int(random.integers(0, max(1, len(words) - length + 1)))
            texts.append(" ".join(words[first : first + length]))
    return texts
