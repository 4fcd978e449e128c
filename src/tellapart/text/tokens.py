"""Splitting text into words. Each splitter is one regular expression, so that words keep their positions.

| name           | words                                                      | used by                              |
|----------------|------------------------------------------------------------|--------------------------------------|
| ptb            | Penn Treebank words, punctuation dropped, emojis are words | the default; as caption metrics do   |
| ptb-marks      | the same, punctuation marks are words too                  | VSE++, LTD                           |
| no-punctuation | split at white space, punctuation deleted from within      | NeuralTalk2, grounded captioning     |
| letters        | split at white space, only letters and emojis are kept     | contrastive captioning               |
| spaces         | split at white space                                       | text that is tokenised already       |
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

_PICTOGRAPH = (
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u2300-\u23ff\u2190-\u21ff\u2934\u2935\u3030\u303d\u3297\u3299"
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u25a0-\u25ff]"
)
_ONE = f"{_PICTOGRAPH}[\U0001f3fb-\U0001f3ff]?\ufe0f?"
# A flag is two letters, a family is joined by U+200D, a keycap is a digit in a box: each is one emoji.
EMOJI = f"(?:[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\ufe0f?\u20e3|{_ONE}(?:\u200d{_ONE})*)"

_CLITIC = r"(?:s|re|ve|ll|d|m)(?![^\W_])"
_PTB_WORD = (
    rf"[^\W_]+?(?=n['’]t(?![^\W_]))|n['’]t(?![^\W_])|['’]{_CLITIC}"
    r"|(?:[^\W\d_]\.){2,}|\d+(?:[.,:/]\d+)+"
    rf"|[^\W_]+(?:(?:[-&]+|['’](?!{_CLITIC})|(?<=\d)[.](?=\d))[^\W_]+)*"
)
_MARK = r"\.\.\.|--|[^\w\s]"

_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}‘’“”…–—]")
# Match emojis before letters, so that the letters splitter does not split an emoji.
_LETTERS = re.compile(rf"{EMOJI}|[^\W\d_]")


@dataclass(frozen=True)
class Word:
    """A word and the characters it came from: text[start:end]."""

    text: str
    start: int
    end: int


def _ptb_word(text: str) -> str:
    return text.replace("’", "'")


def _without_punctuation(text: str) -> str:
    return _PUNCTUATION.sub("", text)


def _only_letters(text: str) -> str:
    return "".join(_LETTERS.findall(text))


def _unchanged(text: str) -> str:
    return text


@dataclass(frozen=True)
class Splitter:
    """A pattern that finds candidates and a function that cleans each; empty results are dropped."""

    pattern: re.Pattern[str]
    clean: Callable[[str], str]

    def words(self, text: str) -> list[Word]:
        """The words with their positions in `text`, which must be NFC (see `normal`)."""
        found = ((self.clean(match.group()), match) for match in self.pattern.finditer(text))
        return [Word(word, match.start(), match.end()) for word, match in found if word]


SPLITTERS: dict[str, Splitter] = {
    "ptb": Splitter(re.compile(rf"{EMOJI}|{_PTB_WORD}", re.IGNORECASE), _ptb_word),
    "ptb-marks": Splitter(re.compile(rf"{EMOJI}|{_PTB_WORD}|{_MARK}", re.IGNORECASE), _ptb_word),
    "no-punctuation": Splitter(re.compile(rf"{EMOJI}|(?:(?!{EMOJI})\S)+"), _without_punctuation),
    "letters": Splitter(re.compile(rf"{EMOJI}|(?:(?!{EMOJI})\S)+"), _only_letters),
    "spaces": Splitter(re.compile(r"\S+"), _unchanged),
}


def normal(text: str) -> str:
    """The NFC form of a text (é as one character), so that words that look equal are equal."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def split_words(text: str, words: str = "ptb", lower: bool = True) -> list[str]:
    """The words of a text.

    >>> split_words("A dog's toy -- isn't it tri-colored?")
    ['a', 'dog', "'s", 'toy', 'is', "n't", 'it', 'tri-colored']
    >>> split_words("Sooo happy!!! 🎉🎉 #nofilter", "letters")
    ['sooo', 'happy', '🎉', '🎉', 'nofilter']
    """
    found = [word.text for word in SPLITTERS[words].words(normal(text))]
    return [word.lower() for word in found] if lower else found


def split_all(texts: Iterable[str], words: str = "ptb", lower: bool = True) -> list[list[str]]:
    """`split_words` of many texts."""
    splitter = SPLITTERS[words]
    pattern, clean = splitter.pattern, splitter.clean
    rows: list[list[str]] = []
    for text in texts:
        text = normal(text.lower() if lower else text)
        rows.append([word for word in map(clean, pattern.findall(text)) if word])
    return rows
