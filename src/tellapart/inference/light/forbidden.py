"""Which of some words may not come next: `models.decoding.constraints` for the best words alone."""

from __future__ import annotations

import numpy as np

from tellapart.text.vocabulary import END
from tellapart.text.word_constraints import NEVER_GENERATED, Constraints


def is_forbidden(words: np.ndarray, prefix: np.ndarray, constraints: Constraints) -> np.ndarray:
    """[N, c] bool: whether each of `words` [N, c] may not follow `prefix` [N, t].

    >>> after = np.asarray([[5, 6, 5]])
    >>> is_forbidden(np.asarray([[1, 6, 7, END]]), after, Constraints(no_repeat=2, bad_endings=(5,))).tolist()
    [[True, True, False, True]]
    """
    found = np.isin(words, NEVER_GENERATED, kind="table")
    length, read = constraints.no_repeat, prefix.shape[1]
    if length > 0 and read >= length:
        runs = np.lib.stride_tricks.sliding_window_view(prefix, length, axis=1)  # [N, t - length + 1, length]
        again = (runs[:, :, :-1] == prefix[:, None, read - length + 1 :]).all(-1)  # [N, t - length + 1]
        completing = np.where(again, runs[:, :, -1], -1)
        found |= (words[:, :, None] == completing[:, None]).any(-1)
    if constraints.bad_endings and read > 0:
        found |= (words == END) & np.isin(prefix[:, -1:], constraints.bad_endings, kind="table")
    return found
