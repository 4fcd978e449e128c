"""Which pieces of a tokenizer spell a word: what models read in pieces is compared word by word."""

from __future__ import annotations

from collections.abc import Sequence

from tellapart.text.model_tokenizer import TokenizerVocabulary
from tellapart.text.tokens import SPLITTERS, Word, normal

Span = tuple[int, int]
"""Pieces first … last - 1."""


def piece_ends(vocabulary: TokenizerVocabulary, ids: Sequence[int]) -> tuple[str, list[int]]:
    """The text of some ids, and how many of its characters have been spelled after each of them."""
    texts = [vocabulary.decode(ids[:count]) for count in range(1, len(ids) + 1)]
    ends: list[int] = []
    for text in texts:
        ends.append(max(len(text), ends[-1] if ends else 0))
    return (texts[-1] if texts else ""), ends


def pieces_of(ends: Sequence[int], start: int, end: int) -> Span | None:
    """The pieces that spell the characters start … end - 1.

    >>> pieces_of([1, 5, 7, 7, 10], 2, 7), pieces_of([1], 4, 6)
    ((1, 3), None)
    """
    before = [0, *ends]
    inside = [place for place, last in enumerate(ends) if max(before[place], start) < min(last, end)]
    return (inside[0], inside[-1] + 1) if inside else None


def spans_of_words(text: str, ends: Sequence[int], words: Sequence[str]) -> list[Span | None]:
    """The pieces of each word, which are sought in the text one after the other; None for one that is not there.

    White space does not count: tokenizers put it around hyphens and apostrophes.

    >>> spans_of_words("a well - lit dog", [1, 6, 8, 12, 16], ["a", "well-lit", "cat", "dog"])
    [(0, 1), (1, 4), None, (4, 5)]
    """
    places = [place for place, letter in enumerate(text) if not letter.isspace()]
    dense, at, found = "".join(text[place] for place in places).lower(), 0, list[Span | None]()
    for word in words:
        wanted = "".join(word.lower().split())
        start = dense.find(wanted, at)
        if start < 0 or not wanted:
            found.append(None)
            continue
        at = start + len(wanted)
        found.append(pieces_of(ends, places[start], places[at - 1] + 1))
    return found


def words_in(text: str, splitter: str) -> list[Word]:
    """The words of a text with their places, by a splitter's name; of subwords, Penn Treebank words."""
    return SPLITTERS.get(splitter, SPLITTERS["ptb"]).words(normal(text))
