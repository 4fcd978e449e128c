"""Nouns that name something visible, for displaying attention: "dog" and "table", not "top", "side" or "group".

The list `noun_words.txt` has the words of the bundled captioner that are nouns in more than half of their uses in
300,000 COCO training captions, as `text.nouns` tags them. Displaying attention therefore needs no tagger.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

LIST = Path(__file__).with_name("noun_words.txt")


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


@cache
def visible_nouns() -> frozenset[str]:
    """The nouns that name something visible."""
    return frozenset(LIST.read_text(encoding="utf-8").split()) - NOT_VISIBLE


def mark_visible_nouns(captions: Sequence[Sequence[str]]) -> list[np.ndarray]:
    """A bool array per caption, True for nouns that name something visible.

    >>> [mask.tolist() for mask in mark_visible_nouns([["a", "dog", "on", "top", "of", "a", "table"]])]
    [[False, True, False, False, False, False, True]]
    """
    nouns = visible_nouns()
    return [np.array([word in nouns for word in caption], bool) for caption in captions]
