"""The result of a caption metric: one value for the corpus and one per caption."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class CorpusSums(NamedTuple):
    """Sums over captions that a corpus value is computed from. A resampled corpus is another weighted sum."""

    columns: np.ndarray
    """[captions, K]"""
    value: Callable[[np.ndarray], np.ndarray]
    """[corpora, K] sums of columns -> [corpora] values."""


class Score(NamedTuple):
    """A metric's value for the corpus, and one value per candidate, in order."""

    corpus: float
    each: np.ndarray
    """[captions]"""
    sums: CorpusSums | None = None
    """None where the corpus value is the mean over captions."""

    def __repr__(self) -> str:
        return f"Score(corpus={self.corpus:.6g}, each={self.each!r})"
