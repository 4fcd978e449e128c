"""Object words of a pack: the words of its captions that name an annotated object, its class and its boxes.

    PACK/object-words/
      object-words.json      classes, settings, the report, and the class of every vocabulary word; written last
      tokens.npy [W]         place of each object word in the pack's tokens.npy, ascending
      classes.npy [W]        its class
      boxes.npy [B, 4]       x1 y1 x2 y2 as fractions of the image; word w has boxes box-offsets.npy[w] … [w + 1] - 1
      token-classes.npy [N]  the class of every word's lemma, annotated or not; -1 for none
      annotated.npy [C]      True for captions with phrases: the others cannot be evaluated

`data/annotate_objects.py` computes them. Training and evaluation read the arrays with numpy alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tellapart.core.errors import InputError, Step
from tellapart.core.files import load_array, read_json
from tellapart.data.pack import Pack

FOLDER = "object-words"


@dataclass(frozen=True)
class ObjectWords:
    """Opened object words of a pack; W words in all."""

    classes: tuple[str, ...]
    tokens: np.ndarray  # [W] int64
    word_class: np.ndarray  # [W] int32
    boxes: np.ndarray  # [B, 4] float32
    box_offsets: np.ndarray  # [W + 1] int64
    token_class: np.ndarray  # [N] int32
    annotated: np.ndarray  # [C] bool
    vocabulary_class: np.ndarray  # [V] int32
    caption: np.ndarray  # [W] int64, caption row in the pack
    place: np.ndarray  # [W] int64, position in its caption
    facts: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def padded_boxes(self) -> tuple[np.ndarray, np.ndarray]:
        """Boxes [W, K, 4] and mask [W, K]; K is the largest number of boxes of a word."""
        counts = np.diff(self.box_offsets)
        steps = np.arange(counts.max(initial=1))
        mask = steps[None, :] < counts[:, None]
        where = np.where(mask, self.box_offsets[:-1, None] + steps[None, :], 0)
        boxes = self.boxes[where] if len(self.boxes) else np.zeros((*where.shape, 4), np.float32)
        return boxes * mask[..., None], mask

    def of_captions(self, captions: np.ndarray) -> np.ndarray:
        """Rows of the object words of some captions, in the order of the pack."""
        return np.flatnonzero(np.isin(self.caption, captions))


def open_objects(pack: Pack) -> ObjectWords:
    """The object words that `annotate_objects` stored in a pack."""
    folder = pack.folder / FOLDER
    if not (folder / "object-words.json").is_file():
        raise InputError(
            f"{pack.folder} has no object words; annotate them first.", Step("annotate", pack.folder, objects=True)
        )
    facts = read_json(folder / "object-words.json")
    if facts["fingerprint"] != pack.fingerprint:
        raise InputError(f"The object words of {pack.folder} belong to another pack; annotate them again.")
    tokens = load_array(folder / "tokens.npy")
    caption = np.searchsorted(pack.offsets, tokens, side="right") - 1
    return ObjectWords(
        tuple(facts.pop("classes")),
        tokens,
        word_class=load_array(folder / "classes.npy"),
        boxes=load_array(folder / "boxes.npy"),
        box_offsets=load_array(folder / "box-offsets.npy"),
        token_class=load_array(folder / "token-classes.npy"),
        annotated=load_array(folder / "annotated.npy"),
        vocabulary_class=np.asarray(facts.pop("vocabulary"), dtype=np.int32),
        caption=caption,
        place=tokens - pack.offsets[caption],
        facts=facts,
    )
