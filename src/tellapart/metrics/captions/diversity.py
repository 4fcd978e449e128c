"""Diversity of captions: vocabulary, distinct n-grams, distinct and novel captions."""

from collections.abc import Iterable, Sequence

import numpy as np

from tellapart.metrics.captions.encoded import number_words
from tellapart.metrics.captions.ngrams import levels

FIRST = 400
"""Captions in which distinct words are counted: more captions have more words, so the number must be fixed."""


def distinct_words(captions: Sequence[str], first: int = FIRST) -> int:
    """Different words in the first `first` tokenised captions.

    >>> distinct_words(["a dog runs", "a dog sits", "a cat"], first=2)
    4
    """
    return len({word for caption in captions[:first] for word in caption.split()})


def diversity(captions: Sequence[str], training: Iterable[str] | None = None, order: int = 2) -> dict[str, float]:
    """Of tokenised captions: distinct words in all and in the first 400, percentage of distinct n-grams and captions,
    mean length.

    With the tokenised training captions also the percentage of novel captions, which are not among them.

    >>> found = diversity(["a dog runs", "a dog sits", "a dog runs"], training=["a dog runs"])
    >>> {name: found[name] for name in ("vocabulary", "words-400", "distinct-1", "distinct-2", "distinct", "novel")}
    {'vocabulary': 4.0, 'words-400': 4.0, 'distinct-1': 44.44, 'distinct-2': 50.0, 'distinct': 66.67, 'novel': 33.33}
    """
    words, lengths, _ = number_words(captions)
    found: dict[str, float] = {"vocabulary": float(len(np.unique(words)))}
    found[f"words-{FIRST}"] = float(distinct_words(captions))
    for n, level in enumerate(levels(words, lengths, order), start=1):
        found[f"distinct-{n}"] = _percent(int(level.is_new.sum()), len(level.is_new))
    found["distinct"] = _percent(len(set(captions)), len(captions))
    if training is not None:
        known = set(training)
        found["novel"] = _percent(sum(caption not in known for caption in captions), len(captions))
    found["length"] = round(float(lengths.mean()), 2) if len(lengths) else 0.0
    return found


def diversity_unit(name: str) -> str:
    """The unit of a value that `diversity` returns.

    >>> diversity_unit("vocabulary"), diversity_unit("length"), diversity_unit("distinct-2")
    ('words', 'words', 'percent')
    """
    return "words" if name in ("vocabulary", f"words-{FIRST}", "length") else "percent"


def _percent(part: int, whole: int) -> float:
    return round(100.0 * part / whole, 2) if whole else 0.0
