"""Known words near an unknown one: what somebody who misspelt a word may have meant."""

from __future__ import annotations

from collections.abc import Iterable

MOST, SHORTEST = 3, 3
"""Suggestions, and letters of a suggestion."""
SHORT = 4
"""Words of so many letters have one fault at most; longer ones have two."""


def edit_distance(one: str, other: str) -> int:
    """How many letters are inserted, deleted, replaced or swapped with the next (optimal string alignment).

    >>> edit_distance("cta", "cat"), edit_distance("umbrela", "umbrella"), edit_distance("dog", "cat")
    (1, 1, 3)
    """
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        current = [row]
        for column, match in enumerate(other, 1):
            cost = min(last[column] + 1, current[-1] + 1, last[column - 1] + (letter != match))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == match:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        before, last = last, current
    return last[-1]


def similar_words(word: str, known: Iterable[str], most: int = MOST) -> list[str]:
    """The known words nearest to a word, best first; among equally near ones the earlier of `known`.

    >>> similar_words("cta", ["man", "car", "cat", "cats"])
    ['cat']
    >>> similar_words("elefant", ["elegant", "elephant"])
    ['elegant', 'elephant']
    >>> similar_words("xyzzy", ["cat"])
    []
    """
    allowed = 1 if len(word) <= SHORT else 2
    letters = _letters(word)
    found: list[tuple[int, bool, int, str]] = []
    for place, other in enumerate(known):
        if (
            len(other) < SHORTEST
            or abs(len(other) - len(word)) > allowed
            or (_letters(other) ^ letters).bit_count() > 2 * allowed
        ):
            continue
        distance = edit_distance(word, other)
        if 0 < distance <= allowed:
            # Swapped letters are the commonest fault in short words, and few people misspell the first letter.
            found.append((distance, sorted(word) != sorted(other) or word[:1] != other[:1], place, other))
    found.sort()
    return [other for _, _, _, other in found[:most]]


def _letters(word: str) -> int:
    """The set of letters of a word as bits: two words whose sets differ much are far apart."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) & 63)
    return bits
