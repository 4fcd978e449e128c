"""Visual concepts: the words that a detector and a text corpus have in common (R2M, section 2.1).

A dictionary lists the concepts. The concepts of a sentence are its words in the dictionary, plurals counted as their
singular; the concepts of an image are its detector's labels over a score. Both come out as the same concept words,
so that a model trained to write sentences from the first can write them from the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.text.coco_concepts import COCO_80, COCO_SYNONYMS

IRREGULAR_PLURALS = {
    "person": "people",
    "man": "men",
    "woman": "women",
    "child": "children",
    "mouse": "mice",
    "goose": "geese",
    "tooth": "teeth",
    "foot": "feet",
    "ox": "oxen",
    "knife": "knives",
    "leaf": "leaves",
    "shelf": "shelves",
    "loaf": "loaves",
    "calf": "calves",
    "wolf": "wolves",
    "scarf": "scarves",
    "bookshelf": "bookshelves",
    "tomato": "tomatoes",
    "potato": "potatoes",
    "mango": "mangoes",
    "sheep": "sheep",
    "deer": "deer",
    "fish": "fish",
    "aircraft": "aircraft",
}


def plural(word: str) -> str:
    """The plural of an English noun.

    >>> [plural(word) for word in ("dog", "bench", "pony", "toy", "woman")]
    ['dogs', 'benches', 'ponies', 'toys', 'women']
    """
    if word in IRREGULAR_PLURALS:
        return IRREGULAR_PLURALS[word]
    for singular, many in IRREGULAR_PLURALS.items():
        if len(singular) >= 3 and word.endswith(singular) and singular in ("man", "woman", "child"):
            return word[: -len(singular)] + many  # fireman, grandchild
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


@dataclass(frozen=True)
class Found:
    """The concepts of an image, and its labels that are not in the dictionary."""

    concepts: tuple[str, ...]
    scores: tuple[float, ...]
    """The detector's best score for each concept."""
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConceptDictionary:
    """Concepts by detector label, with synonyms.

    >>> dictionary = ConceptDictionary.coco()
    >>> dictionary.of_sentence("two puppies share a hot dog near a bench".split())
    ('dog', 'hot dog', 'bench')
    >>> dictionary.of_detections(["dog", "wug", "bench"], [0.9, 0.8, 0.2])
    Found(concepts=('dog',), scores=(0.9,), unknown=('wug',))
    """

    labels: tuple[str, ...]
    synonyms: dict[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """Words or phrases that stand for a label in a sentence."""
    multiword: str = "phrase"
    """A label of several words: `phrase` keeps it whole (a hot dog is not a dog); `last` uses its last word, as the
    paper's dictionary does."""

    def __post_init__(self) -> None:
        if self.multiword not in ("phrase", "last"):
            raise InputError(f"`multiword` must be phrase or last, not '{self.multiword}'.")
        if not self.labels:
            raise InputError("The dictionary of concepts is empty; give it at least one word.")
        unknown_labels = [label for label in self.synonyms if label not in self.labels]
        if unknown_labels:
            raise InputError(
                f"Synonyms are given for {', '.join(unknown_labels)}, which are not in the dictionary; add them."
            )

    @classmethod
    def coco(cls, multiword: str = "phrase", synonyms: bool = True) -> ConceptDictionary:
        """COCO's 80 classes, for any detector trained on COCO."""
        return cls(COCO_80, COCO_SYNONYMS if synonyms else {}, multiword)

    @classmethod
    def read(cls, path: Path | str, multiword: str = "phrase") -> ConceptDictionary:
        """Your own list: one concept per line, with synonyms after a colon: `couch: sofa, settee`."""
        labels: list[str] = []
        synonyms: dict[str, tuple[str, ...]] = {}
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"Cannot read the concepts {path}: {error}. Give a UTF-8 text file with one concept per line."
            ) from error
        for line in lines:
            label, _, others = line.partition(":")
            label = " ".join(label.lower().split())
            if not label:
                continue
            if label not in labels:
                labels.append(label)
            words = tuple(" ".join(other.lower().split()) for other in others.split(",") if other.strip())
            if words:
                synonyms[label] = synonyms.get(label, ()) + words
        if not labels:
            raise InputError(f"{path} has no concepts; write one per line.")
        return cls(tuple(labels), synonyms, multiword)

    def concept(self, label: str) -> str:
        """The word that stands for a label in the vocabulary."""
        return label.split()[-1] if self.multiword == "last" else label

    @cached_property
    def concepts(self) -> tuple[str, ...]:
        """All concept words, each once, in the order of the dictionary; the vocabulary must have them."""
        return tuple(dict.fromkeys(self.concept(label) for label in self.labels))

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.labels)

    @cached_property
    def _forms(self) -> dict[tuple[str, ...], str]:
        """All forms of the concepts, singular and plural; a label wins over the plural of another, and both over a
        synonym."""
        forms: dict[tuple[str, ...], str] = {}
        for label in self.labels:
            forms.setdefault(tuple(label.split()), self.concept(label))
        for label in self.labels:
            concept = self.concept(label)
            for written in (concept, label):
                _add_forms(forms, written, concept)
        for label, others in self.synonyms.items():
            for other in others:
                _add_forms(forms, other, self.concept(label))
        return forms

    @cached_property
    def _longest(self) -> int:
        return max(len(form) for form in self._forms)

    @cached_property
    def _first_words(self) -> frozenset[str]:
        return frozenset(form[0] for form in self._forms)

    def of_sentence(self, words: Sequence[str]) -> tuple[str, ...]:
        """Concepts of a tokenised sentence, each once, in order; the longest of several phrases wins."""
        found: dict[str, None] = {}
        position = 0
        while position < len(words):
            advance = 1
            if words[position] in self._first_words:
                for length in range(min(self._longest, len(words) - position), 0, -1):
                    concept = self._forms.get(tuple(words[position : position + length]))
                    if concept is not None:
                        found[concept] = None
                        advance = length
                        break
            position += advance
        return tuple(found)

    def of_detections(
        self, labels: Sequence[str], scores: Sequence[float], least_score: float = 0.3, most: int = 5
    ) -> Found:
        """The `most` concepts of highest score, at least `least_score`, highest first, each once.

        Detectors that write their labels with capitals or more spaces (`Traffic light`) are understood.
        """
        best: dict[str, float] = {}
        unknown: dict[str, None] = {}
        for label, score in zip(labels, scores, strict=True):
            if score < least_score:
                continue
            known = label if label in self._known else " ".join(label.lower().split())
            if known not in self._known:
                unknown[label] = None
                continue
            concept = self.concept(known)
            best[concept] = max(score, best.get(concept, score))
        ranked = sorted(best, key=lambda concept: (-best[concept], concept))  # by name for equal scores
        kept = tuple(ranked[:most])
        return Found(kept, tuple(best[concept] for concept in kept), tuple(unknown))


def _add_forms(forms: dict[tuple[str, ...], str], written: str, concept: str) -> None:
    words = written.split()
    forms.setdefault(tuple(words), concept)
    forms.setdefault((*words[:-1], plural(words[-1])), concept)


def describe_unknown(labels: Iterable[tuple[str, int]]) -> str:
    """One sentence about labels that are not concepts, most frequent first; empty if there are none."""
    counted = sorted(labels, key=lambda item: (-item[1], item[0]))
    if not counted:
        return ""
    named = ", ".join(f"{label} ({count} images)" for label, count in counted[:10])
    more = f" and {len(counted) - 10} more" if len(counted) > 10 else ""
    return f"Detector labels that are not in the dictionary of concepts: {named}{more}; add them to use them."
