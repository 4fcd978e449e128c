"""The words that a matcher learned, and the words of a query that neither it nor people's captions know."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tellapart.runs.bundled import MODELS
from tellapart.text.function_words import FUNCTION_WORDS
from tellapart.text.lemmas import noun_lemma
from tellapart.text.model_tokenizer import TokenizerVocabulary
from tellapart.text.rules import WORD_PIECE
from tellapart.text.spelling import similar_words
from tellapart.text.vocabulary import UNK, Vocabulary
from tellapart.text.wordpiece import INSIDE

_WORD = re.compile(r"[^\W\d_]+")
SHORTEST_PIECE = 4
"""Letters: the shortest subwords that are surely words. Shorter ones are often abbreviations (cta, dgo)."""


@dataclass(frozen=True)
class UnknownWord:
    """A word of a query that nothing was learned about, and similar words that are known."""

    word: str
    suggestions: tuple[str, ...]


@dataclass(frozen=True)
class Lexicon:
    """Words by descending frequency."""

    words: tuple[str, ...]
    whole: bool = False
    """Whether every word is known: a model of transformers reads any word in the pieces of its tokenizer."""

    @functools.cached_property
    def _all(self) -> frozenset[str]:
        return frozenset(self.words)

    def knows(self, word: str) -> bool:
        """Whether a word, in lower case, or its singular was learned."""
        return self.whole or word in self._all or noun_lemma(word) in self._all or word in FUNCTION_WORDS

    def unknown(self, text: str, captions: Iterable[str] = ()) -> list[UnknownWord]:
        """The unknown words of a text, each once. `captions` are people's own: their words are known.

        >>> Lexicon(("a", "cat", "sofa")).unknown("A cta on sofas")
        [UnknownWord(word='cta', suggestions=('cat',))]
        """
        unsure = [word for word in dict.fromkeys(words_of(text)) if not self.knows(word)]
        if not unsure:
            return []
        own = dict.fromkeys(word for caption in captions for word in words_of(caption))
        singulars = {noun_lemma(word) for word in own}
        return [
            UnknownWord(word, tuple(similar_words(word, (*own, *self.words))))
            for word in unsure
            if word not in own and noun_lemma(word) not in singulars
        ]


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without numbers, punctuation and the s of a possessive.

    >>> words_of("The dog's 2 toys, isn't it?")
    ['the', 'dog', 'toys', 'isn', 'it']
    """
    return [word for word in _WORD.findall(text.lower().replace("’", "'").replace("'s", " ")) if word != "t"]


def lexicon_of(vocabulary: Vocabulary, rules: Mapping[str, Any]) -> Lexicon:
    """The words of a matcher's vocabulary. Of subwords, those of COCO's captions, then whole words of the rest."""
    if isinstance(vocabulary, TokenizerVocabulary):
        return Lexicon((), whole=True)
    words = vocabulary.words[UNK + 1 :]
    if rules.get("words") != WORD_PIECE:
        return Lexicon(tuple(words))
    pieces = (word for word in words if not word.startswith(INSIDE) and len(word) >= SHORTEST_PIECE and word.isalpha())
    return Lexicon(tuple(dict.fromkeys((*_caption_words(), *pieces))))


@functools.cache
def _caption_words() -> tuple[str, ...]:
    """The words of COCO's training captions by descending frequency: the vocabulary of the bundled captioner."""
    file = MODELS / "captioner" / "vocabulary.json"
    return tuple(word for word in json.loads(file.read_text())[UNK + 1 :] if word.isalpha()) if file.is_file() else ()


def corrected(text: str, unknown: Sequence[UnknownWord]) -> str | None:
    """The text with the first suggestion in place of each unknown word; None if some word has none.

    >>> corrected("a cta on a sofa", [UnknownWord("cta", ("cat", "car"))])
    'a cat on a sofa'
    """
    if not unknown or not all(one.suggestions for one in unknown):
        return None
    for one in unknown:
        text = re.sub(rf"(?<![^\W\d_]){re.escape(one.word)}(?![^\W\d_])", one.suggestions[0], text, flags=re.IGNORECASE)
    return text
