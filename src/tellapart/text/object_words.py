"""From annotated phrases to single object words (grounded captioning paper, section 4.1).

The paper scores one word an object, Flickr30k Entities annotates phrases, and no script that turns one into the other
was ever published. Ours: the phrase's head noun, reduced to its lemma; see `head_word` for what the head is. Classes
are the lemmas that occur often enough in the training captions, or your own list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.text.lemmas import noun_lemma


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


AMOUNTS = _words("""
    array assortment bit body bottle bunch cluster collection column couple crowd dozen flight flock gang group
    handful herd kind line lot lots mass number pack pair pairs piece pieces pile plenty row rows school series
    set sets sort stack stream team total trio troop type variety
""")
"""Nouns of quantity before "of": a group of people is people, but a bucket of water is a bucket."""
PREPOSITIONS = _words("""
    about above across after against along among around at behind below beneath beside between by down during for
    from in inside into like near off on onto out outside over past through to toward towards under up upon with
    within without wearing holding
""")
NOT_OBJECTS = _words("""
    black blue brown dark gold golden gray green grey maroon navy orange pink purple red silver tan teal turquoise
    white yellow one two three four five six seven eight nine ten a an the all another any both each either every
    few first her hers herself him himself his it its itself many me most other others second several she he some
    somebody someone something somewhere that their them themselves these they third this those us we what which
    who whom you anyone anything everyone everything nobody nothing same so background foreground front back side
    top bottom middle end edge center centre part way
""")
"""Words at the end of a phrase that name no object: colours, numbers, pronouns and positions in the image."""


def head_word(words: Sequence[str], nouns: Sequence[bool]) -> int | None:
    """Index of the word of a phrase that names its object, or None.

    The phrase is cut at its first preposition that follows a noun. If that is "of", an amount before it gives way to
    what follows. What is left is headed by its last noun, or, where the tagger found no noun, by its last word.
    Colours, numbers, pronouns and places in the image are no objects.

    >>> head_word("a group of young people".split(), [False, True, False, False, True])
    4
    >>> head_word("a bucket of water".split(), [False, True, False, True])
    1
    >>> head_word(["all", "white"], [False, False]) is None
    True
    """
    first, last = 0, len(words)
    for place in range(1, len(words)):
        if not any(nouns[first:place]):
            continue
        if words[place] == "of" and words[place - 1] in AMOUNTS and place + 1 < len(words):
            first = place + 1
        elif words[place] == "of" or words[place] in PREPOSITIONS:
            last = place
            break
    marked = [place for place in range(first, last) if nouns[place] and words[place] not in NOT_OBJECTS]
    if marked:
        return marked[-1]
    ending = words[last - 1]
    return last - 1 if not any(nouns[first:last]) and ending.isalpha() and ending not in NOT_OBJECTS else None


@dataclass(frozen=True)
class ObjectClasses:
    """Lemmas that count as objects, in order; class k is `names[k]`.

    >>> classes = ObjectClasses.counted(["dog", "dog", "man", "dog", "man", "kite"], least=2)
    >>> classes.names, classes.of("men"), classes.of("kites")
    (('dog', 'man'), 1, -1)
    """

    names: tuple[str, ...]

    @classmethod
    def counted(cls, lemmas: Iterable[str], least: int = 1, most: int | None = None) -> ObjectClasses:
        """The lemmas that occur at least `least` times, most frequent first, then alphabetically."""
        counts = Counter(lemmas)
        ordered = sorted(
            (lemma for lemma, count in counts.items() if count >= least), key=lambda name: (-counts[name], name)
        )
        return cls(tuple(ordered[:most]))

    @classmethod
    def from_file(cls, path: Path) -> ObjectClasses:
        """One class per line; empty lines and lines that begin with # are ignored. Words are reduced to lemmas."""
        try:
            lines = [line.strip().lower() for line in path.read_text(encoding="utf-8").splitlines()]
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"Cannot read the class list {path}: {error}. Give a UTF-8 text file with one class per line."
            ) from error
        names = tuple(dict.fromkeys(noun_lemma(line) for line in lines if line and not line.startswith("#")))
        spaced = [name for name in names if " " in name]
        if not names or spaced:
            wrong = f"'{spaced[0]}' is more than one word" if spaced else "it is empty"
            raise InputError(
                f"The class list {path} cannot be used: {wrong}. Object classes are single words, one per line."
            )
        return cls(names)

    def of(self, word: str) -> int:
        """The class of a word, or -1."""
        return self.ids.get(noun_lemma(word), -1)

    @property
    def ids(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}
