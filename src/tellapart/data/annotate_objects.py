"""Turning the phrases of a pack into object words; `data/object_words.py` describes what is stored.

Everything that needs a tagger or lemmas happens here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from tellapart.core.checksums import write_checksums
from tellapart.core.errors import InputError
from tellapart.core.files import atomic_folder, save_array, write_json
from tellapart.data.object_words import FOLDER
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Phrase
from tellapart.text.lemmas import noun_lemma
from tellapart.text.nouns import mark_nouns
from tellapart.text.object_words import ObjectClasses, head_word
from tellapart.text.vocabulary import UNK


@dataclass(frozen=True)
class ObjectSettings:
    """How phrases become object words."""

    least: int = 20
    """Smallest number of times that the split names a class."""
    most: int = 480
    """Largest number of classes, most frequent first; published scores use 480."""
    boxes: str = "union"
    """For an object with several boxes: union (the one box that holds them all), or each (any of them counts)."""
    class_file: Path | None = None
    """Your own list of classes, one word per line, instead of counting."""
    split: str = "train"
    """The split in which classes are counted."""


@dataclass(frozen=True)
class ObjectReport:
    """How many phrases became object words, and why others did not."""

    phrases: int = 0
    without_box: int = 0
    without_object: int = 0
    """Phrases with a box whose words name no object: colours, numbers, pronouns, positions."""
    outside: int = 0
    """Boxes that lie outside their image, or have no area inside it."""
    rare: int = 0
    """Phrases whose object has no class."""
    words: int = 0
    """Object words stored."""
    classes: int = 0

    def sentence(self) -> str:
        """The report in a sentence, for printing."""
        return (
            f"{self.words:,} object words of {self.classes} classes from {self.phrases:,} phrases; "
            f"{self.without_box:,} have no box, {self.without_object:,} name no object, {self.rare:,} are of no class, "
            f"{self.outside:,} boxes lie outside their image"
        )


def annotate_objects(pack: Pack, settings: ObjectSettings | None = None) -> ObjectReport:
    """Turn the phrases of a pack into object words and store them in it."""
    settings = settings or ObjectSettings()
    if not pack.phrases:
        raise InputError(
            f"{pack.folder} has no phrases with boxes; prepare it with Flickr30k Entities (`entities=FOLDER`)."
        )
    if settings.boxes not in ("union", "each"):
        raise InputError(f"`boxes` must be union or each, not '{settings.boxes}'.")
    found, counts = _named_objects(pack)
    classes = _classes(pack, found, settings)
    ids = classes.ids
    boxes: dict[int, list[np.ndarray]] = {}
    for token, lemma, own in found:
        if lemma in ids:
            boxes.setdefault(token, []).append(own)
    tokens = np.asarray(sorted(boxes), dtype=np.int64)
    kept = [_joined(np.concatenate(boxes[token]), settings.boxes) for token in tokens.tolist()]
    texts = [word for caption in pack.captions for word in caption.words]
    class_of = {word: classes.of(word) for word in set(texts)}
    token_class = np.fromiter((class_of[word] for word in texts), np.int32, len(texts))
    annotated = np.zeros(len(pack.captions), dtype=np.bool_)
    annotated[[phrase.caption for phrase in pack.phrases]] = True
    report = ObjectReport(
        **counts,
        rare=sum(lemma not in ids for _, lemma, _ in found),
        words=len(tokens),
        classes=len(classes.names),
    )
    plain = asdict(settings) | {"class_file": str(settings.class_file) if settings.class_file else None}
    with atomic_folder(pack.folder / FOLDER) as folder:
        save_array(folder / "tokens.npy", tokens)
        save_array(folder / "classes.npy", token_class[tokens])
        save_array(folder / "boxes.npy", np.concatenate([np.zeros((0, 4), np.float32), *kept]))
        save_array(
            folder / "box-offsets.npy", np.concatenate([[0], np.cumsum([len(rows) for rows in kept])]).astype(np.int64)
        )
        save_array(folder / "token-classes.npy", token_class)
        save_array(folder / "annotated.npy", annotated)
        words = [classes.of(word) for word in pack.vocabulary.words]
        facts = {"classes": list(classes.names), "settings": plain, "report": asdict(report), "vocabulary": words}
        write_json(folder / "object-words.json", facts | {"fingerprint": pack.fingerprint})
        write_checksums(folder)
    return report


def _named_objects(pack: Pack) -> tuple[list[tuple[int, str, np.ndarray]], dict[str, int]]:
    """(place in tokens.npy, lemma, boxes [n, 4]) of every phrase that names an object, and counts of the others."""
    nouns = _noun_mask(pack)
    counts = {"phrases": len(pack.phrases), "without_box": 0, "without_object": 0, "outside": 0}
    found = []
    for phrase in pack.phrases:
        boxes = clipped(phrase)
        counts["outside"] += len(phrase.boxes) - len(boxes)
        if not len(boxes):
            counts["without_box"] += 1
            continue
        words = pack.captions[phrase.caption].words[phrase.first : phrase.last]
        start = int(pack.offsets[phrase.caption]) + phrase.first
        head = head_word(words, nouns[start : start + len(words)].tolist())
        if head is None:
            counts["without_object"] += 1
            continue
        found.append((start + head, noun_lemma(words[head]), boxes))
    return found, counts


def clipped(phrase: Phrase) -> np.ndarray:
    """The boxes of a phrase clipped to the image [n, 4]; boxes outside it are dropped."""
    boxes = np.asarray(phrase.boxes, dtype=np.float32).reshape(-1, 4).clip(0, 1)
    return boxes[(boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])]


def _joined(boxes: np.ndarray, how: str) -> np.ndarray:
    if how == "each":
        return np.unique(boxes, axis=0)
    return np.concatenate([boxes[:, :2].min(0), boxes[:, 2:].max(0)])[None]


def _noun_mask(pack: Pack) -> np.ndarray:
    """Nouns among all words [N]. The column `nouns` excludes words outside the vocabulary, but these are heads of
    phrases too ("a water jumphouse" is not water), so they are tagged here."""
    marked = pack.column("nouns") if pack.has_column("nouns") else None
    nouns = np.zeros(len(pack.tokens), np.bool_) if marked is None else np.array(marked.values, dtype=np.bool_)
    unmarked = np.ones(len(nouns), np.bool_) if marked is None else np.asarray(pack.tokens) == UNK
    rows = np.unique(np.searchsorted(pack.offsets, np.flatnonzero(unmarked), side="right") - 1)
    tagger = "hanta" if marked is None else marked.facts.get("tagger", "hanta")
    for row, found in zip(rows, mark_nouns([pack.captions[row].words for row in rows], tagger)):
        span = slice(pack.offsets[row], pack.offsets[row + 1])
        nouns[span] = np.where(unmarked[span], found, nouns[span])
    return nouns


def _classes(pack: Pack, found: list[tuple[int, str, np.ndarray]], settings: ObjectSettings) -> ObjectClasses:
    if settings.class_file is not None:
        return ObjectClasses.from_file(settings.class_file)
    counted = set(pack.split(settings.split).captions.tolist())
    captions = np.searchsorted(pack.offsets, np.asarray([token for token, _, _ in found]), side="right") - 1
    lemmas = [lemma for caption, (_, lemma, _) in zip(captions.tolist(), found) if caption in counted]
    classes = ObjectClasses.counted(lemmas, settings.least, settings.most)
    if not classes.names:
        raise InputError(
            f"No object is named {settings.least} times in the split '{settings.split}' of {pack.folder}; lower "
            "`object_least` or give a class list."
        )
    return classes
