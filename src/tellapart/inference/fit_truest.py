"""Fits the weights of the choice of plain captions (see `truest`) on images that no model was trained on.

Weights are drawn at random. Those with the fewest words that no reference confirms, and the fewest captions with an
untrue object, count, provided that CIDEr, the number of different words and the length of captions reach LIMITS, as
shares of those of the likeliest captions. The mean of the KEPT best is less a matter of chance than the one best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tellapart.inference.fit_choice import Outcomes, means
from tellapart.inference.truest import PREFIX, WEIGHTS, PlainTerms, chosen_plain

DRAWN, KEPT = 5000, 8
SHORTFALL = 10.0
"""Shares of untrue words per share by which a limit is missed."""
LIMITS = {"cider": 1.01, "words": 1.02, "length": 1.01}
RANGES = {
    "agreement": (0.1, 2.0),
    "truth": (0.02, 1.5),
    "fluency": (0.05, 2.0),
    "rare": (0.005, 0.8),
    "length": (0.005, 0.5),
}
"""Least and greatest value of each weight."""
TOGETHER = 400
"""Captions whose different words are counted together."""


def fit_truest(
    terms: PlainTerms, outcomes: Outcomes, texts: Sequence[Sequence[str]], drawn: int = DRAWN, seed: int = 0
) -> dict[str, float]:
    """The weights by their names in the settings of the evidence, as geometric means of the KEPT best drawn ones.

    texts: the captions [I][K].
    """
    random = np.random.default_rng(seed)
    low, high = np.log(np.asarray([RANGES[name] for name in WEIGHTS])).T
    tried = np.exp(random.uniform(low, high, (drawn, len(WEIGHTS))))
    likeliest = _outcome(outcomes, texts, np.zeros(len(texts), np.int64))
    costs = []
    for weights in tried:
        places = chosen_plain(terms, dict(zip(WEIGHTS, weights.tolist())))
        costs.append(cost(_outcome(outcomes, texts, places), likeliest))
    best = np.exp(np.log(tried[np.argsort(costs)[:KEPT]]).mean(0))
    return {PREFIX + name: round(value, 3) for name, value in zip(WEIGHTS, best.tolist())}


def cost(found: Mapping[str, float], likeliest: Mapping[str, float]) -> float:
    """Untrue words, and half as much untrue objects, as shares of those of the likeliest captions, with SHORTFALL."""
    share = {name: found[name] / max(likeliest[name], 1e-9) for name in likeliest}
    missed = sum(max(0.0, least - share[name]) for name, least in LIMITS.items())
    return share["unnamed"] + share["wrong_object"] / 2 + SHORTFALL * missed


def _outcome(outcomes: Outcomes, texts: Sequence[Sequence[str]], places: np.ndarray) -> dict[str, float]:
    captions = [texts[row][place] for row, place in enumerate(places.tolist())]
    length = float(np.mean([len(caption.split()) for caption in captions]))
    return {**means(outcomes, places), "words": different_words(captions), "length": length}


def different_words(captions: Sequence[str]) -> float:
    """Different words in TOGETHER captions, on average.

    >>> different_words(["a cat", "a dog"])
    3.0
    """
    parts = [captions[first : first + TOGETHER] for first in range(0, len(captions), TOGETHER)]
    whole = [part for part in parts if len(part) == TOGETHER] or parts
    return float(np.mean([len({word for caption in part for word in caption.split()}) for part in whole]))
