"""Which words a decoder may write next, as settings; `models.decoding` and `light` apply them."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart.text.vocabulary import PAD, START, UNK, Vocabulary

NEVER_GENERATED = (PAD, START, UNK)
# fmt: off
BAD_ENDINGS = (
    "a", "an", "the", "in", "on", "of", "at", "to", "with", "for",
    "from", "by", "and", "or", "is", "are", "was", "were", "be", "as",
    "its", "his", "her", "their", "this", "that", "into", "onto", "near", "over",
    "under", "behind", "through", "while", "who", "which", "very",
)
# fmt: on


@dataclass(frozen=True)
class Constraints:
    """Options of every decoder, off by default."""

    no_repeat: int = 0
    """No run of this many words occurs twice in a caption; 0: no limit."""
    bad_endings: tuple[int, ...] = ()
    """Word ids that END may not follow; `bad_endings(vocabulary)` lists the usual ones."""


UNCONSTRAINED = Constraints()


def bad_endings(vocabulary: Vocabulary) -> tuple[int, ...]:
    """Ids of the words that no caption should end with."""
    return tuple(vocabulary.ids[word] for word in BAD_ENDINGS if word in vocabulary.ids)


def most_forbidden(length: int, constraints: Constraints) -> int:
    """The most words that can be forbidden after `length` words."""
    runs = max(0, length - constraints.no_repeat + 1) if constraints.no_repeat > 0 else 0
    return len(NEVER_GENERATED) + bool(constraints.bad_endings) + runs
