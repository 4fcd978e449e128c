"""Captions as people write them: captioners say "cat 's", two words of the Penn Treebank, and readers see "cat's".

Metrics split captions into words again, so that both forms have the same scores.
"""

from __future__ import annotations

import re

_BEFORE_NOT = "ai are ca could did do does had has have is might must need should was were wo would"
_PARTS = re.compile(rf" ('(?:s|re|d|m|ve|ll))(?= |$)|\b({_BEFORE_NOT.replace(' ', '|')}) (n't)(?= |$)")


def as_written(caption: str) -> str:
    """A caption without spaces before the second parts of words.

    >>> as_written("a cat 's face that does n't move at 5 o'clock")
    "a cat's face that doesn't move at 5 o'clock"
    """
    return _PARTS.sub(lambda found: "".join(part or "" for part in found.groups()), caption)


def continues(word: str, before: str) -> bool:
    """Whether a captioner's word is the second part of the word before it.

    >>> continues("'s", "cat"), continues("n't", "is"), continues("n't", "cat")
    (True, True, False)
    """
    return " " not in as_written(f"{before.strip()} {word.strip()}")
