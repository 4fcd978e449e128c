"""How a matcher's cosines are read: hubs damped, and the probability that a photo matches a text.

Hubs. Vectors of texts have a common part m, larger the shorter the text. Photos near m, among them plain surfaces and
patterns, are near every short query. A query is therefore q - m (centring; Suzuki et al. 2013, "Centering similarity
measures to reduce hubs", section 4), where m depends on the number n of its words:

    m(n) = w m_words + (1 - w) / 2 m_captions,    w = (10 - n) / 8 within 0 … 1

m_words is the mean vector of single words, m_captions that of whole captions. Only the query changes, so that stored
vectors and an approximate index stay valid.

Probability. The logit is a + b c + d z + e g + f w: the cosine c of the centred query and the photo, the same cosine z
in standard deviations above its mean over photos of all kinds, the square g of the share of the query's words that the
generated caption has, and the number w of its words that name something beyond the first, three at most: more must be
true. The coefficients are fitted by `python -m tellapart.cli.fit_search`.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tellapart.runs.bundled import MODELS

FOLDER = MODELS / "search"
NUMBERS, SETTINGS = "search.npz", "search.json"
MOST_WORDS = 3
FEW, MANY = 2, 10
"""Words of queries whose common part is that of single words, and that of captions."""


@dataclass(frozen=True)
class QueryCentre:
    """The common part of the vectors of texts."""

    words: np.ndarray  # [E]
    captions: np.ndarray  # [E]

    def centred(self, query: np.ndarray, words: int) -> np.ndarray:
        """The query [E] of so many words without its common part, of length one."""
        share = min(1.0, max(0.0, (MANY - words) / (MANY - FEW)))
        rest = query - share * self.words - (1 - share) / 2 * self.captions
        return np.asarray(rest / max(float(np.linalg.norm(rest)), 1e-6))


@dataclass(frozen=True)
class Background:
    """Mean and variance of photos of all kinds: x ~ (mean, basis' basis + rest I)."""

    mean: np.ndarray  # [E]
    basis: np.ndarray  # [K, E] principal directions, each as long as its standard deviation
    rest: float

    def standardised(self, query: np.ndarray, cosine: np.ndarray) -> np.ndarray:
        """Cosines [N] with a query [E] in standard deviations above their mean over the background."""
        along = self.basis @ query  # [K]
        deviation = math.sqrt(float(along @ along) + self.rest * float(query @ query))
        return np.asarray((cosine - self.mean @ query) / max(deviation, 1e-6))


@dataclass(frozen=True)
class Calibration:
    """What was measured for one matcher."""

    centre: QueryCentre
    background: Background
    coefficients: Mapping[str, float]
    """`constant`, `cosine`, `standardised`, `caption` and `words`."""
    clear: float
    """A photo with at least this probability is a match; one with less is less sure."""
    shown: float
    """A photo with a smaller probability is not shown."""

    def logits(self, query: np.ndarray, cosine: np.ndarray, caption: np.ndarray, words: int) -> np.ndarray:
        """The logits [N] of a centred query [E] with so many words that name something, cosines [N], and squared
        shares of its words in captions [N]."""
        weights, z = self.coefficients, self.background.standardised(query, cosine)
        image = weights["constant"] + weights["cosine"] * cosine + weights["standardised"] * z
        return np.asarray(image + weights["caption"] * caption + weights["words"] * more_words(words))


def more_words(words: int) -> int:
    """How many words beyond the first count.

    >>> more_words(0), more_words(2), more_words(9)
    (0, 1, 3)
    """
    return min(MOST_WORDS, max(0, words - 1))


def probability(logit: float) -> float:
    """The logistic function.

    >>> probability(0.0), round(probability(2.0), 3)
    (0.5, 0.881)
    """
    return 1 / (1 + math.exp(-max(-500.0, min(500.0, logit))))


def write_calibration(folder: Path, fingerprint: str, found: Calibration) -> None:
    """Write a calibration."""
    folder.mkdir(parents=True, exist_ok=True)
    half = {
        "words": found.centre.words,
        "captions": found.centre.captions,
        "mean": found.background.mean,
        "basis": found.background.basis,
    }
    np.savez_compressed(folder / NUMBERS, **{name: value.astype(np.float16) for name, value in half.items()})  # type: ignore[arg-type]
    settings = {
        "fingerprint": fingerprint,
        "coefficients": {name: round(value, 4) for name, value in found.coefficients.items()},
        "rest": found.background.rest,
        "clear": found.clear,
        "shown": found.shown,
    }
    (folder / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n")


@functools.lru_cache(maxsize=4)
def read_calibration(fingerprint: str, folder: Path = FOLDER) -> Calibration | None:
    """The calibration of the matcher with this fingerprint; None for any other."""
    if not (folder / SETTINGS).is_file():
        return None
    settings = json.loads((folder / SETTINGS).read_text())
    if settings["fingerprint"] != fingerprint:
        return None
    with np.load(folder / NUMBERS) as stored:
        numbers = {name: stored[name].astype(np.float32) for name in stored.files}
    return Calibration(
        QueryCentre(numbers["words"], numbers["captions"]),
        Background(numbers["mean"], numbers["basis"], settings["rest"]),
        settings["coefficients"],
        settings["clear"],
        settings["shown"],
    )
