"""Whether reference captions name a word: the word itself, another form of it, or a synonym."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tellapart.text.lemmas import noun_lemma

_GROUPS = (
    "couch sofa",
    "tv television",
    "cellphone phone cell telephone smartphone",
    "bike bicycle",
    "motorcycle motorbike",
    "plane airplane jet airliner aircraft",
    "large big huge giant",
    "small little tiny",
    "street road",
    "field grass grassy pasture",
    "ocean sea water wave",
    "sandwich burger hamburger",
    "train locomotive",
    "snow snowy",
    "laptop computer",
    "couple two pair",
    "hill mountain",
    "purple violet",
    "grey gray",
    "meal food dish",
)
_PEOPLE = {
    "man": "guy male gentleman boy person people player",
    "woman": "lady female girl person people player",
    "boy": "kid child man guy person toddler baby",
    "girl": "kid child woman lady person toddler baby",
    "child": "kid boy girl toddler baby",
    "person": "people man woman boy girl child kid guy lady player",
    "people": "person man woman boy girl child kid guy lady player",
}
NAMED_BY: dict[str, frozenset[str]] = {
    **{word: frozenset(group.split()) for group in _GROUPS for word in group.split()},
    **{word: frozenset(others.split()) for word, others in _PEOPLE.items()},
}
"""Words whose mention confirms a word. A person may be the man of a caption, but a woman is not."""


def stem(word: str) -> str:
    """A word without its ending: dogs, dog; parked, park; sitting, sitt.

    >>> [stem(word) for word in "dogs parked sitting".split()]
    ['dog', 'park', 'sitt']
    """
    word = noun_lemma(word)
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)]
    return word


def named_words(words: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """[n] bool: whether some reference names each word.

    >>> named_words(["dog", "sofa", "cat"], ["two dogs on a couch"]).tolist()
    [True, True, False]
    """
    said = {word for reference in references for word in reference.split()}
    stems = {stem(word) for word in said}
    lemmas = {noun_lemma(word) for word in said}
    return np.asarray(
        [stem(word) in stems or bool(NAMED_BY.get(noun_lemma(word), frozenset()) & lemmas) for word in words], bool
    )


def named_table(words: Sequence[str], groups: Sequence[Sequence[str]]) -> np.ndarray:
    """[N, W] bool: `named_words` of many words for the references of many images, in one pass over these.

    >>> named_table(["dog", "sofa", "cat"], [["two dogs on a couch"], ["a cat"]]).astype(int).tolist()
    [[1, 1, 0], [0, 0, 1]]
    """
    by_stem, by_lemma = defaultdict(list), defaultdict(list)
    for column, word in enumerate(words):
        by_stem[stem(word)].append(column)
        for other in NAMED_BY.get(noun_lemma(word), ()):
            by_lemma[other].append(column)
    table = np.zeros((len(groups), len(words)), bool)
    for row, references in enumerate(groups):
        for word in {word for reference in references for word in reference.split()}:
            table[row, by_stem.get(stem(word), [])] = True
            table[row, by_lemma.get(noun_lemma(word), [])] = True
    return table
