"""Nouns that name something visible, for displaying attention: "dog" and "table", not "top", "side" or "group"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellapart.text.nouns import mark_nouns


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PLACES = _words(
    "back background bottom center centre corner distance edge end foreground front inside left middle outside "
    "part place right side sides spot top"
)
AMOUNTS = _words(
    "array assortment bit bunch bunches couple display group groups kind kinds lot lots number pair pairs piece pieces "
    "row rows set type types variety"
)
VIEWS = _words("closeup close image images photo photograph photos shot view") | {"picture", "pictures"}
OTHERS = _words("air day daytime night pose time way")
NOT_VISIBLE = PLACES | AMOUNTS | VIEWS | OTHERS
"""Nouns of captions that name a place, an amount, the image itself or a time."""


def mark_visible_nouns(captions: Sequence[Sequence[str]]) -> list[np.ndarray]:
    """A bool array per caption, True for nouns that name something visible.

    >>> [mask.tolist() for mask in mark_visible_nouns([["a", "dog", "on", "top", "of", "a", "table"]])]
    [[False, True, False, False, False, False, True]]
    """
    visible = [np.array([word not in NOT_VISIBLE for word in caption], bool) for caption in captions]
    return [nouns & seen for nouns, seen in zip(mark_nouns(captions), visible)]
