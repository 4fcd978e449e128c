"""The character classes of tokens, as in the reference's Unicode 6.1 tables."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

# Combining marks, modifiers and letters newer than the reference's letter table, which it adds to words by hand.
EXTRA_LETTERS = (
    "\xad\u0237-\u024f\u02c2-\u02c5\u02d2-\u02df\u02e5-\u02ff\u0300-\u037d\u0384\u0385\u03cf\u03f6\u03fc-\u03ff"
    "\u0483-\u0487\u04cf\u04f6-\u04ff\u0510-\u0525\u055a-\u055f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0615-\u061a\u063b-\u063f\u064b-\u065e\u0670\u06d6-\u06ef\u06fa-\u06ff\u070f\u0711\u0730-\u077f"
    "\u07a6-\u07b1\u07ca-\u07f5\u07fa\u0900-\u0903\u093c\u093e-\u094e\u0951-\u0955\u0962\u0963\u0981-\u0983"
    "\u09bc-\u09c4\u09c7\u09c8\u09cb-\u09cd\u09d7\u09e2\u09e3\u0a01-\u0a03\u0a3c\u0a3e-\u0a4f\u0a81-\u0a83"
    "\u0abc-\u0acf\u0b82\u0bbe-\u0bc2\u0bc6-\u0bc8\u0bca-\u0bcd\u0c01-\u0c03\u0c3e-\u0c56\u0d3e-\u0d44"
    "\u0d46-\u0d48\u0e30-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ecd"
)
# Letters and digits that Unicode added after version 6.1, the reference's: it drops them as unknown characters.
NEWER = re.compile(
    "["
    "\u037f\u0528-\u052f\u0560\u0588\u05ef\u0860-\u086a\u0870-\u0887\u0889-\u088e\u08a1\u08ad-\u08c9\u0978"
    "\u0980\u09fc\u0af9\u0c34\u0c5a\u0c5d\u0c80\u0cdd\u0d04\u0d54-\u0d56\u0d5f\u0de6-\u0def\u0e86\u0e89\u0e8c"
    "\u0e8e-\u0e93\u0e98\u0ea0\u0ea8-\u0ea9\u0eac\u13f5\u13f8-\u13fd\u16f1-\u16f8\u170d\u171f\u1878"
    "\u191d-\u191e\u19b0-\u19c0\u19c8-\u19c9\u1b4c\u1c80-\u1c88\u1c90-\u1cba\u1cbd-\u1cbf\u1cf2-\u1cf3\u1cfa"
    "\u2c2f\u2c5f\u312e-\u312f\u31bb-\u31bf\u4db6-\u4dbf\u9fcd-\u9fff\ua698-\ua69d\ua78f\ua794-\ua79f"
    "\ua7ab-\ua7ca\ua7d0-\ua7d1\ua7d3\ua7d5-\ua7d9\ua7f2-\ua7f7\ua8fd-\ua8fe\ua9e0-\ua9e4\ua9e6-\ua9fe"
    "\uaa7e-\uaa7f\uab30-\uab5a\uab5c-\uab69\uab70-\uabbf"
    "]"
)
NAMED_LETTER = r"&[aeiouAEIOU](?ai:acute|grave|uml);"  # &eacute;


def _ranges(keep: Callable[[str], bool]) -> str:
    kept = [code for code in range(0x80, 0xFFFE) if keep(chr(code))]
    spans: list[list[int]] = []
    for code in kept:
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in spans)


@dataclass(frozen=True)
class Classes:
    """Character classes, and the parts of patterns that depend on them."""

    letter: str
    digit: str
    capital: str
    word_letter: str
    """Characters of a word: letters, and marks that belong to letters."""

    @classmethod
    def of(cls, ascii_only: bool) -> "Classes":
        """The classes; short ones suffice for ASCII text and compile faster."""
        if ascii_only:
            return cls("A-Za-z", "0-9", "A-Z", "A-Za-z")
        letters = "A-Za-z\u1885\u1886" + _ranges(  # two Mongolian letters that are marks today
            lambda c: unicodedata.category(c)[0] == "L" and not NEWER.match(c)
        )
        digits = "0-9" + _ranges(lambda c: unicodedata.category(c) == "Nd" and not NEWER.match(c))
        capitals = "A-Z" + _ranges(lambda c: unicodedata.category(c) == "Lu" and not NEWER.match(c))
        return cls(letters, digits, capitals, letters + EXTRA_LETTERS)

    @property
    def one_letter(self) -> str:
        """One letter of a word."""
        return f"(?:[{self.word_letter}]|{NAMED_LETTER})"

    @property
    def one_more(self) -> str:
        """One later character of a word: a letter or digit."""
        return f"(?:[{self.word_letter}{self.digit}\u07c0-\u07c9]|{NAMED_LETTER})"

    @property
    def one_digit(self) -> str:
        """One digit."""
        return f"[{self.digit}\u07c0-\u07c9]"

    @property
    def word(self) -> str:
        """A word."""
        return f"{self.one_letter}{self.one_more}*(?:[.!?]{self.one_letter}{self.one_more}*)*"

    @property
    def compound(self) -> str:
        """Letters and digits with hyphens, each part with or without an elided article: d'Or-l'eau."""
        plain = f"[{self.letter}{self.digit}]"
        elided = f"(?:[dDoOlL](?:['\x92\u2019`\x91\u2018\u201b]|(?ai:&apos;)){plain})?"
        return f"{elided}{plain}+(?:[-_\u058a\u2010\u2011]{elided}{plain}+)*"

    @property
    def number(self) -> str:
        """A number."""
        return rf"[-+]?(?:{self.one_digit}*(?:[.:,\xad\u066b\u066c]{self.one_digit}+)+|{self.one_digit}+)"

    @property
    def fraction(self) -> str:
        """A fraction."""
        few = f"{self.one_digit}{{1,4}}"
        return rf"(?:{few}[- \xa0])?{few}(?:\\?/|\u2044){few}"
