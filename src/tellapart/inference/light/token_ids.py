"""Text as the token ids that an exported matcher reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.text.rules import TextRules
from tellapart.text.vocabulary import END, PAD, START, UNK, Vocabulary


def token_ids(
    texts: Sequence[str], rules: Mapping[str, Any], vocabulary: Vocabulary, allow_unknown: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Ids [C, T] (START … END PAD) and which are real [C, T]; InputError for a text without a known word."""
    names = {field.name for field in fields(TextRules)}
    words = TextRules(**{key: value for key, value in rules.items() if key in names}).split(texts, vocabulary)
    ids = [vocabulary.encode(row) for row in words]
    for text, row in zip(texts, ids):
        if not allow_unknown and all(token == UNK for token in row):
            raise InputError(f"The matcher knows no word of '{text}'; use other words.")
    longest = max(map(len, ids), default=0) + 2
    tokens = np.asarray([[START, *row, END, *[PAD] * (longest - len(row) - 2)] for row in ids], np.int64)
    lengths = np.asarray([len(row) + 2 for row in ids])
    return tokens.reshape(len(ids), longest), np.arange(longest) < lengths.reshape(-1, 1)
