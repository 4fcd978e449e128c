"""Columns computed for the captions of a pack: which words are nouns, and sentence targets.

Object words are in `data/object_words.py`, visual concepts in `data/concepts_column.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tellapart.core.progress import progress_bar
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Column
from tellapart.text.nouns import mark_nouns
from tellapart.text.sentence_targets import MINILM, encode_sentences, load_targets
from tellapart.text.vocabulary import UNK, Vocabulary

NOUNS = "nouns"


def annotate_nouns(pack: Pack, *, tagger: str = "hanta") -> Column:
    """Mark the nouns of all captions in the column `nouns`: one bool per word."""
    column = noun_column([caption.words for caption in pack.captions], pack.vocabulary, tagger)
    pack.save_column(NOUNS, column.values, column.per, column.facts)
    return column


def noun_column(sentences: Sequence[tuple[str, ...]], vocabulary: Vocabulary, tagger: str = "hanta") -> Column:
    """True for every token that is a noun and in the vocabulary: UNK names nothing that an image could show."""
    nouns = np.concatenate([np.zeros(0, dtype=bool), *mark_nouns(sentences, tagger)])  # [tokens]
    known = np.asarray([index != UNK for words in sentences for index in vocabulary.encode(words)], dtype=bool)
    return Column(nouns & known, "token", {"tagger": tagger})


def annotate_targets(
    pack: Pack,
    model: str = MINILM,
    *,
    name: str | None = None,
    batch: int = 128,
    device: str = "cpu",
    progress: bool = False,
) -> str:
    """Store one vector per caption (the latent targets of LTD) as a column; returns the column's name.

    model: `minilm`, a folder or name of a transformers sentence encoder, or an .npy with one row per caption.
    """
    name = name or targets_name(model)
    if model.endswith(".npy"):
        values = load_targets(Path(model), len(pack.owner))
    else:
        texts = [caption.text for caption in pack.captions]
        with progress_bar(len(texts), "encoding captions", enabled=progress) as advance:
            values = encode_sentences(texts, model, batch, device, advance)  # [C, S]
    pack.save_column(name, values.astype(np.float16), "caption", {"model": model, "width": int(values.shape[1])})
    return name


def targets_name(model: str) -> str:
    """The name of a column of targets, from the name of their encoder.

    >>> targets_name("minilm"), targets_name("models/My Encoder/")
    ('targets-minilm', 'targets-my-encoder')
    """
    last = Path(model).with_suffix("").name if model.endswith(".npy") else model.rstrip("/").rsplit("/", 1)[-1]
    return "targets-" + re.sub(r"[^a-z0-9]+", "-", last.lower()).strip("-")
