"""Alternative texts as screen readers read them well: a capital letter, one line, at most 125 characters."""

from __future__ import annotations

from tellapart.text.function_words import FUNCTION_WORDS

LONGEST = 125
"""Characters. Some screen readers stop or split the text there."""


def alternative_text(text: str) -> str:
    """A caption as alternative text. A longer one ends after a whole word that is no function word, with an ellipsis.

    >>> alternative_text("a dog on   a beach")
    'A dog on a beach'
    >>> alternative_text("word " * 40) == "Word " + "word " * 23 + "word…"
    True
    """
    words = text.split()
    if not words:
        return ""
    whole = " ".join(words)
    if len(whole) > LONGEST:
        while words and len(" ".join(words)) > LONGEST - 1:
            words.pop()
        while len(words) > 1 and words[-1].strip(".,;:!?").lower() in FUNCTION_WORDS:
            words.pop()
        whole = (" ".join(words).rstrip(".,;:") or whole[: LONGEST - 1]) + "…"
    return whole[0].upper() + whole[1:]
