"""The names that somebody may have meant who wrote an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

MOST = 3


def did_you_mean(name: str, known: Iterable[str], quote: str = "'") -> str:
    """A question with a space before it, with the three most similar names at most; empty if none is similar.

    >>> did_you_mean("vsee++", ["vse++", "vse", "mvn"])
    " Did you mean 'vse++' or 'vse'?"
    >>> did_you_mean("epoch", ["epochs", "seed"])
    " Did you mean 'epochs'?"
    >>> did_you_mean("zzz", ["epochs", "seed"])
    ''
    """
    names = {one.lower(): one for one in known}
    similar = [names[one] for one in difflib.get_close_matches(name.lower(), names, MOST)]
    return meant(similar, quote)


def meant(names: Sequence[str], quote: str = "'") -> str:
    """The question whether one of some names was meant, with a space before it; empty for none.

    >>> meant(["cat", "car"]), meant([])
    (" Did you mean 'cat' or 'car'?", '')
    """
    if not names:
        return ""
    *first, last = (f"{quote}{one}{quote}" for one in names)
    return f" Did you mean {', '.join(first)} or {last}?" if first else f" Did you mean {last}?"
