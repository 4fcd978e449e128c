"""Words of captions that name nothing visible by themselves: articles, prepositions, pronouns, auxiliaries, amounts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from tellapart.text.lemmas import noun_lemma
from tellapart.text.visible_nouns import NOT_VISIBLE


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


FUNCTION_WORDS = _words("""
    a about above across after against all along among an and another any are around as at away back be been before
    behind being below beneath beside between both but by can close do does doing down during each either else every
    few for from full get gets getting go goes going had has have having he her hers him his how if in inside into is
    it its just left like lot many more most much near next no not of off on one ones only onto or other others our out
    outside over past right round s same several she so some something such than that the their them there these they
    thing things this those through to together toward towards under up upon very via was were what when where which
    while who whose will with within without you your
""")
"""Words that no image can confirm."""
LINKS = _words("each next of on to the in a an and with other")
"""Words that good captions repeat."""


def is_content(word: str) -> bool:
    """Whether a word says something about an image that the image can confirm or contradict.

    >>> [word for word in "a group of dogs on the red sofa".split() if is_content(word)]
    ['dogs', 'red', 'sofa']
    """
    return word.isalpha() and word not in FUNCTION_WORDS and word not in NOT_VISIBLE


def content_words(words: Iterable[str]) -> list[str]:
    """The words that an image can confirm or contradict, in order."""
    return [word for word in words if is_content(word)]


def repeats_itself(words: Sequence[str]) -> bool:
    """Whether a caption names one thing twice ("a building with a building") or has a pair of words twice.

    >>> repeats_itself("a bench next to a wooden bench".split())
    True
    >>> repeats_itself("two dogs next to each other on a beach".split())
    False
    """
    named = [noun_lemma(word) for word in words if word.isalpha() and word not in FUNCTION_WORDS]
    pairs = [pair for pair in pairwise(words) if not set(pair) <= LINKS]
    return len(set(named)) < len(named) or len(set(pairs)) < len(pairs)


def wrong_article(words: Sequence[str]) -> bool:
    """Whether "a" stands before a vowel or "an" before a consonant. Words like "hour" and "unicorn" are exempt.

    >>> [wrong_article(text.split()) for text in ("a animal", "an animal", "an dog", "a unicorn")]
    [True, False, True, False]
    """
    for article, word in pairwise(words):
        vowel = word[0] in "aeio" or (word[0] == "u" and not word.startswith(("uni", "use", "ute", "uk")))
        exempt = word.startswith(("hour", "honest", "one", "eu", "ewe"))
        if not exempt and ((article == "a" and vowel) or (article == "an" and not vowel)):
            return True
    return False
