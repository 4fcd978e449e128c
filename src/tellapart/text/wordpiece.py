"""Subwords of BERT (uncased), in plain Python: Devlin et al. 2019; Wu et al. 2016, section 4.1.

Text is cleaned, lower-cased, freed of accents, and split at white space and punctuation. Each word is then cut into the
longest pieces of the vocabulary from left to right; pieces within a word begin with `##`. The result equals that of the
package `tokenizers` for BERT's uncased vocabulary.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence

from tellapart.text.vocabulary import SPECIAL, UNK, Vocabulary

INSIDE = "##"
LONGEST_WORD = 100
"""A longer word becomes UNK."""
BERT_SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
"""What BERT calls PAD, START, END and UNK."""
UNUSED = re.compile(r"\[unused\d+\]|\[MASK\]")
CONTROL = ("Cc", "Cf", "Co")
_ASCII = re.compile(r"[a-z0-9]+|[^\sa-z0-9]")
_CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
"""Ranges of Chinese characters, each of which is a word."""


def plain_ending(text: str) -> str:
    """The text without punctuation at its end: the matcher learned without, as queries and captions have none.

    >>> plain_ending("A dog runs. ")
    'A dog runs'
    """
    return text.strip().rstrip(".!?,; ")


def basic_words(text: str) -> list[str]:
    """Lower-case words without accents; every punctuation mark is a word.

    >>> basic_words("Café-owner's dog!")
    ['cafe', '-', 'owner', "'", 's', 'dog', '!']
    """
    if text.isascii() and text.isprintable():
        return _ASCII.findall(text.lower())
    cleaned = "".join(_spaced(character) for character in text)
    plain = "".join(c for c in unicodedata.normalize("NFD", cleaned) if unicodedata.category(c) != "Mn")
    # Lower-cased one by one: as a whole, Python would write a final sigma differently.
    lowered = "".join(character.lower() for character in plain)
    return "".join(f" {c} " if _is_punctuation(c) else c for c in lowered).split()


def _spaced(character: str) -> str:
    """The character; a space for white space, nothing for control characters, spaces around a Chinese one."""
    code = ord(character)
    if character in "\t\n\r" or (character.isspace() and unicodedata.category(character)[0] != "C"):
        return " "
    if code in (0, 0xFFFD) or unicodedata.category(character) in CONTROL:
        return ""
    return f" {character} " if any(first <= code <= last for first, last in _CJK) else character


def _is_punctuation(character: str) -> bool:
    if character.isascii():
        return not character.isalnum() and not character.isspace() and character.isprintable()
    return unicodedata.category(character).startswith("P")


class WordPieces:
    """Cuts words into the pieces of one vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.pieces = frozenset(vocabulary.words[UNK + 1 :])
        self.longest = max(map(len, self.pieces), default=1)  # with the mark of inner pieces: a little too long
        self.known: dict[str, tuple[str, ...]] = {}

    def split(self, text: str) -> list[str]:
        """The pieces of a text; a word that has none is `<unk>`."""
        return [piece for word in basic_words(plain_ending(text)) for piece in self.of_word(word)]

    def of_word(self, word: str) -> tuple[str, ...]:
        """The longest pieces of a word from left to right."""
        found = self.known.get(word)
        if found is None:
            found = self.known[word] = self._cut(word)
        return found

    def _cut(self, word: str) -> tuple[str, ...]:
        if len(word) > LONGEST_WORD:
            return (SPECIAL[UNK],)
        pieces: list[str] = []
        start = 0
        while start < len(word):
            for end in range(min(len(word), start + self.longest), start, -1):
                piece = (INSIDE if start else "") + word[start:end]
                if piece in self.pieces:
                    break
            else:
                return (SPECIAL[UNK],)
            pieces.append(piece)
            start = end
        return tuple(pieces)


@functools.lru_cache(maxsize=8)
def _cached(words: tuple[str, ...]) -> WordPieces:
    return WordPieces(Vocabulary(words))


def split_pieces(texts: Iterable[str], vocabulary: Vocabulary) -> list[list[str]]:
    """The pieces of each text.

    >>> vocabulary = Vocabulary.from_words(["a", "dog", "run", "##ning"])
    >>> split_pieces(["A dog running.", "a zebra"], vocabulary)
    [['a', 'dog', 'run', '##ning'], ['a', '<unk>']]
    """
    pieces = _cached(vocabulary.words)
    return [pieces.split(text) for text in texts]


def piece_vocabulary(bert: Sequence[str]) -> Vocabulary:
    """The vocabulary of BERT's pieces in their order, without those that never occur in a text."""
    return Vocabulary.from_words(piece for piece in bert if piece not in BERT_SPECIAL and not UNUSED.fullmatch(piece))


def bert_names(vocabulary: Vocabulary) -> tuple[str, ...]:
    """The words of a vocabulary as BERT calls them."""
    return BERT_SPECIAL + vocabulary.words[UNK + 1 :]
