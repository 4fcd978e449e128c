"""Whether reference captions confirm a word in its number: "dogs" needs several, "two" a pair, "woman" a female.

`named` asks whether references name a thing at all, and takes "dog" for "dogs". Here every token of a reference gives
keys, and every word wants some: a noun its stem and number, a verb its stem, an amount one of its group, a person the
number and, where references tell it, the sex.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from functools import cache

import numpy as np

from tellapart.text.function_words import is_content
from tellapart.text.lemmas import noun_lemma
from tellapart.text.named import NAMED_BY
from tellapart.text.visible_nouns import visible_nouns


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


FEMALE = _words("woman lady girl female bride mother mom daughter grandmother waitress")
MALE = _words("man guy boy male gentleman groom father dad son grandfather")
PERSONS = (
    FEMALE
    | MALE
    | _words("""
    person child kid baby toddler player adult someone skier surfer snowboarder skateboarder rider batter pitcher
    catcher umpire infant pedestrian motorcyclist biker bicyclist cyclist officer policeman chef cook worker boarder
    individual skater spectator fan student soldier swimmer jockey cowboy
""")
)
SEVERAL_PERSONS = _words("people crowd family team couple friends everyone folks audience class")
"""Words for several persons that have no singular here."""
PAIR = _words("two couple couples pair pairs both")
COUNTS = _words("three four five six seven eight nine ten dozen")
MANY = COUNTS | _words("""
    group groups bunch several many lots lot crowd herd flock multiple some various number numerous few row rows pile
    piles line stack assortment variety array collection
""")
_ALIGNED = _words("row rows line lines lined lining")
_PILED = _words("pile piles piled stack stacks stacked bunch bunches")
AMOUNTS: dict[str, frozenset[str]] = {
    **dict.fromkeys(PAIR, PAIR),
    **{word: frozenset({word}) for word in COUNTS},
    **dict.fromkeys(_words("group groups bunch several many lots crowd herd flock multiple various"), MANY),
    **dict.fromkeys(_words("row rows"), _ALIGNED),
    **dict.fromkeys(_words("pile piles stack"), _PILED),
}
"""Words of amount, each with those that confirm it."""
ONE, SEVERAL = 1, 2
Key = tuple[Hashable, ...]


def is_claim(word: str) -> bool:
    """Whether an image can confirm or contradict a word: a content word or an amount.

    >>> [word for word in "a couple of dogs on top of three boxes".split() if is_claim(word)]
    ['couple', 'dogs', 'three', 'boxes']
    """
    return word in AMOUNTS or is_content(word)


def claims(caption: str) -> list[str]:
    """The words of a caption that its image can confirm or contradict, in order."""
    return [word for word in caption.split() if is_claim(word)]


def confirmed_words(words: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """[n] bool: whether the references of an image confirm each word.

    >>> confirmed_words(["dogs", "two", "sofa"], ["a dog on a couch"]).tolist()
    [False, False, True]
    """
    keys = given(references)
    return np.asarray([not wanted(word).isdisjoint(keys) for word in words], bool)


def confirmed_table(words: Sequence[str], groups: Iterable[Sequence[str]]) -> np.ndarray:
    """[N, W] bool: whether the references of each image, lower-case tokens with spaces, confirm each word.

    >>> words = ["dog", "dogs", "two", "woman", "men", "people", "riding"]
    >>> confirmed_table(words, [["two dogs with a person"], ["a man and a lady ride"]]).astype(int).tolist()
    [[0, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 1, 1]]
    """
    columns = defaultdict(list)
    for column, word in enumerate(words):
        for key in wanted(word):
            columns[key].append(column)
    rows = []
    for references in groups:
        row = np.zeros(len(words), bool)
        for key in given(references):
            row[columns.get(key, [])] = True
        rows.append(row)
    return np.stack(rows) if rows else np.zeros((0, len(words)), bool)


@cache
def wanted(word: str) -> frozenset[Key]:
    """The keys of which any confirms a word."""
    if word in AMOUNTS:
        return frozenset(("word", other) for other in AMOUNTS[word])
    lemma, number = noun_lemma(word), _number(word)
    if word in SEVERAL_PERSONS:
        return frozenset({("person", SEVERAL)})
    if lemma in PERSONS:
        sex = "female" if lemma in FEMALE else "male" if lemma in MALE else "person"
        return frozenset({(sex, number), ("unsexed", number)})
    keys: set[Key] = {("word", word)}
    for other in {lemma, *NAMED_BY.get(lemma, ())}:
        keys.add(("noun", _stem(other), number) if lemma in _nouns() else ("stem", _stem(other)))
    return frozenset(keys)


def given(references: Sequence[str]) -> set[Key]:
    """The keys that the references of an image give."""
    keys: set[Key] = set()
    for reference in references:
        words = reference.split()
        persons = [key for word in words for key in _given(word) if key[0] == "person"]
        keys.update(key for word in words for key in _given(word))
        if len(persons) > 1:
            keys.add(("person", SEVERAL))
    if not any(key[0] in ("female", "male") for key in keys):
        keys.update(("unsexed", key[1]) for key in tuple(keys) if key[0] == "person")
    return keys


@cache
def _given(word: str) -> frozenset[Key]:
    lemma, number = noun_lemma(word), _number(word)
    keys: set[Key] = {("word", word)}
    if is_content(word):  # "close up" does not say that eyes are closed, nor "on top" that a plate is topped
        keys |= {("stem", _stem(lemma)), ("noun", _stem(lemma), number)}
    if lemma in PERSONS or word in SEVERAL_PERSONS:
        keys.add(("person", SEVERAL if word in SEVERAL_PERSONS else number))
    if lemma in FEMALE or lemma in MALE:
        keys.add(("female" if lemma in FEMALE else "male", number))
    return frozenset(keys)


@cache
def _nouns() -> frozenset[str]:
    return frozenset(noun_lemma(word) for word in visible_nouns())


def _number(word: str) -> int:
    return SEVERAL if noun_lemma(word) != word else ONE


def _stem(word: str) -> str:
    """Without the ending of a verb: riding, rides, ride, rid; sitting, sits, sit."""
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
            break
    return word.removesuffix("e") if len(word) > 3 else word
