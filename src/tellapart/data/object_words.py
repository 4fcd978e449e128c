"""A pack's object words: which words of its captions name an annotated object, of which class, and where it is.

    PACK/object-words/
      object-words.json      classes, settings, the report, and the class of every vocabulary word; written last
      tokens.npy [W]         place of each object word in the pack's tokens.npy, rising
      classes.npy [W]        its class
      boxes.npy [B, 4]       x1 y1 x2 y2 as fractions of the image; box-offsets.npy [W + 1] says whose they are
      token-classes.npy [N]  the class of every word's lemma, annotated or not; -1 for none
      annotated.npy [C]      True for captions that have phrases: the others cannot be judged

All that needs a tagger or lemmas happens here. Training and evaluation read the arrays with numpy alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_folder, read_json, save_array, write_json
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Phrase
from tellapart.text.object_words import ObjectClasses, head_word
from tellapart.text.vocabulary import UNK

FOLDER = "object-words"


@dataclass(frozen=True)
class ObjectSettings:
    """How phrases become object words."""

    least: int = 20
    """A class is named at least so often by the training split."""
    most: int = 480
    """At most so many classes, the most frequent first; 480 is what published scores have."""
    boxes: str = "union"
    """Of an object with several boxes: union (the one box that holds them all), or each (any of them will do)."""
    class_file: Path | None = None
    """A list of classes of your own, one word a line, instead of counting."""
    split: str = "train"
    """The split whose words are counted."""


@dataclass(frozen=True)
class ObjectReport:
    """What became of the phrases."""

    phrases: int = 0
    without_box: int = 0
    without_object: int = 0
    """Phrases with a box whose words name no object: colours, numbers, pronouns, places in the image."""
    outside: int = 0
    """Boxes that lie outside their image, or have no area inside it."""
    rare: int = 0
    """Phrases whose object is in no class."""
    words: int = 0
    """Object words in the end."""
    classes: int = 0

    def sentence(self) -> str:
        """What a user should read."""
        return (
            f"{self.words:,} object words of {self.classes} classes from {self.phrases:,} phrases; "
            f"{self.without_box:,} have no box, {self.without_object:,} name no object, {self.rare:,} are of no class, "
            f"{self.outside:,} boxes lie outside their image"
        )


@dataclass(frozen=True)
class ObjectWords:
    """Object words of a pack, opened; W words in all."""

    classes: tuple[str, ...]
    tokens: np.ndarray  # [W] int64
    word_class: np.ndarray  # [W] int32
    boxes: np.ndarray  # [B, 4] float32
    box_offsets: np.ndarray  # [W + 1] int64
    token_class: np.ndarray  # [N] int32
    annotated: np.ndarray  # [C] bool
    vocabulary_class: np.ndarray  # [V] int32
    caption: np.ndarray  # [W] int64, row of the pack
    place: np.ndarray  # [W] int64, which word of its caption
    facts: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def padded_boxes(self) -> tuple[np.ndarray, np.ndarray]:
        """Boxes [W, K, 4] and mask [W, K], K the most boxes of any word."""
        counts = np.diff(self.box_offsets)
        steps = np.arange(counts.max(initial=1))
        mask = steps[None, :] < counts[:, None]
        where = np.where(mask, self.box_offsets[:-1, None] + steps[None, :], 0)
        boxes = self.boxes[where] if len(self.boxes) else np.zeros((*where.shape, 4), np.float32)
        return boxes * mask[..., None], mask

    def of_captions(self, captions: np.ndarray) -> np.ndarray:
        """Rows of the object words of some captions, in the pack's order."""
        return np.flatnonzero(np.isin(self.caption, captions))


def annotate_objects(pack: Pack, settings: ObjectSettings | None = None) -> ObjectReport:
    """Turn the pack's phrases into object words, store them in the pack, and say what became of the phrases."""
    settings = settings or ObjectSettings()
    if not pack.phrases:
        raise InputError(
            f"{pack.folder} has no phrases with boxes; prepare it with Flickr30k Entities (--entities FOLDER)."
        )
    if settings.boxes not in ("union", "each"):
        raise InputError(f"Several boxes of an object are joined (union) or kept (each), not '{settings.boxes}'.")
    found, counts = _named(pack)
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
    return report


def open_objects(pack: Pack) -> ObjectWords:
    """The object words that `annotate_objects` stored."""
    folder = pack.folder / FOLDER
    if not (folder / "object-words.json").is_file():
        raise InputError(
            f"{pack.folder} has no object words; make them with `tellapart annotate {pack.folder} --objects`."
        )
    facts = read_json(folder / "object-words.json")
    if facts["fingerprint"] != pack.fingerprint:
        raise InputError(f"The object words of {pack.folder} belong to another pack; annotate it anew.")
    tokens = np.load(folder / "tokens.npy")
    caption = np.searchsorted(pack.offsets, tokens, side="right") - 1
    return ObjectWords(
        tuple(facts.pop("classes")),
        tokens,
        np.load(folder / "classes.npy"),
        np.load(folder / "boxes.npy"),
        np.load(folder / "box-offsets.npy"),
        np.load(folder / "token-classes.npy"),
        np.load(folder / "annotated.npy"),
        np.asarray(facts.pop("vocabulary"), dtype=np.int32),
        caption,
        tokens - pack.offsets[caption],
        facts,
    )


def _named(pack: Pack) -> tuple[list[tuple[int, str, np.ndarray]], dict[str, int]]:
    """(place in tokens.npy, lemma, boxes [n, 4]) of every phrase that names a visible object, and what was left out."""
    from tellapart.text.lemmas import noun_lemma

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
    """The phrase's boxes inside the image [n, 4]; boxes with nothing inside it are left out."""
    boxes = np.asarray(phrase.boxes, dtype=np.float32).reshape(-1, 4).clip(0, 1)
    return boxes[(boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])]


def _joined(boxes: np.ndarray, how: str) -> np.ndarray:
    if how == "each":
        return np.unique(boxes, axis=0)
    return np.concatenate([boxes[:, :2].min(0), boxes[:, 2:].max(0)])[None]


def _noun_mask(pack: Pack) -> np.ndarray:
    """Nouns among all words [N]. The column leaves out words that are not in the vocabulary, but these head phrases
    like any other: "a water jumphouse" is no water. So they are tagged here."""
    from tellapart.text.nouns import mark_nouns

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
            "--object-least or give a class list."
        )
    return classes
