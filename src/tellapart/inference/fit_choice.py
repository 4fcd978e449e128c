"""Fits the weights of the choice among captions (see `telling_apart`) on images that no model was trained on.

For each image there are several captions, with the terms of their value and with what became of them: whether an
independent judge picks the image from the caption, its CIDEr, whether it names an object that no reference has, and how
many of its words no reference confirms. Weights are drawn at random; those whose captions the judge gets right most
often count, provided that CIDEr loses at most COST, that at most WRONG times as many captions name a wrong object as
plain ones, and at most UNNAMED times as many words are unconfirmed. The mean of the KEPT best is less a matter of
chance than the one best.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tellapart.inference.telling_apart import SECOND, log_softmax

COST, WRONG, UNNAMED = 0.045, 0.95, 1.11
"""Shares of the plain captions' values. The likeliest captions have 1.11 times as many unconfirmed words."""
SHORTFALL = 5.0
"""Points of the judge per point by which a limit is missed."""
DRAWN, KEPT = 3000, 10
RANGES = {
    "softness": (0.3, 2.0),
    "agreement": (0.3, 2.5),
    "truth": (0.05, 0.8),
    "fluency": (0.2, 1.6),
    "object": (0.4, 0.75),
    "word": (0.02, 0.12),
    "second_truth": (0.05, 0.6),
    "second_object": (0.4, 0.7),
    "second_word": (0.02, 0.12),
}
"""Least and greatest value of each weight and threshold."""


@dataclass(frozen=True)
class Terms:
    """What the value of K captions per image depends on, the plain one first; all [I, K] but `scores`."""

    usable: np.ndarray  # bool
    scores: np.ndarray  # [I, K, 1 + M + L] the matcher's, of the image, its neighbours and further images
    neighbours: int
    """M."""
    agreement: np.ndarray
    truth: np.ndarray  # sum of ln p(word is true)
    fluency: np.ndarray  # ln p(c|I) per word
    least_object: np.ndarray  # the least p(word is true) of its objects, 1 without one
    least_word: np.ndarray  # the same of other content words
    second_truth: np.ndarray  # as above, by the second judge; 0 without one
    second_object: np.ndarray  # 1 without one
    second_word: np.ndarray


@dataclass(frozen=True)
class Outcomes:
    """What became of each caption, all [I, K]."""

    right: np.ndarray  # 1 if the judge picks the image
    cider: np.ndarray
    wrong_object: np.ndarray  # 1 if it names an object that no reference has
    unnamed: np.ndarray  # content words and amounts that no reference confirms


def chosen(terms: Terms, settings: Mapping[str, float]) -> np.ndarray:
    """Which caption of each image is chosen [I], at weight 0.5 (see `telling_apart.choose`)."""
    supported = (terms.least_object >= settings["object"]) & (terms.least_word >= settings["word"])
    second = {name: settings.get(SECOND + name, 0.0) for name in ("object", "word", "truth")}
    supported &= (terms.second_object >= second["object"]) & (terms.second_word >= second["word"])
    supported[:, 0] = True
    value = (
        log_softmax(settings["softness"] * terms.scores)[:, :, 0]
        + settings["agreement"] * terms.agreement
        + settings["truth"] * terms.truth
        + second["truth"] * terms.second_truth
        + settings["fluency"] * terms.fluency
    )
    best = np.where(terms.usable & supported, value, -np.inf).argmax(1)
    lost = (terms.scores[:, :, 1 : 1 + terms.neighbours] >= terms.scores[:, :, :1]).sum(2)
    left = lost[np.arange(len(best)), best]
    return np.where((left == 0) | (left < lost[:, 0]), best, 0)


def means(outcomes: Outcomes, places: np.ndarray) -> dict[str, float]:
    """Mean outcomes of caption `places[i]` of each image i."""
    rows = np.arange(len(places))
    return {name: float(values[rows, places].mean()) for name, values in vars(outcomes).items()}


def merit(found: Mapping[str, float], plain: Mapping[str, float]) -> float:
    """The share that the judge gets right, less SHORTFALL times the shares by which limits are missed."""
    missed = (
        max(0.0, 1 - COST - found["cider"] / max(plain["cider"], 1e-9)),
        max(0.0, found["wrong_object"] - WRONG * plain["wrong_object"]),
        max(0.0, found["unnamed"] / max(plain["unnamed"], 1e-9) - UNNAMED),
    )
    return found["right"] - SHORTFALL * sum(missed)


def fit_choice(terms: Terms, outcomes: Outcomes, drawn: int = DRAWN, seed: int = 0) -> dict[str, float]:
    """The weights and thresholds of RANGES, as geometric means of the KEPT best drawn ones."""
    random = np.random.default_rng(seed)
    plain = means(outcomes, np.zeros(len(terms.usable), np.int64))
    low, high = np.log(np.asarray(list(RANGES.values()))).T
    tried = np.exp(random.uniform(low, high, (drawn, len(RANGES))))
    merits = [merit(means(outcomes, chosen(terms, _named(one))), plain) for one in tried]
    best = tried[np.argsort(merits)[::-1][:KEPT]]
    return {name: round(value, 3) for name, value in _named(np.exp(np.log(best).mean(0))).items()}


def _named(values: np.ndarray) -> dict[str, float]:
    return dict(zip(RANGES, values.tolist()))
