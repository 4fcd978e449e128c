"""The tokenizer of a pretrained model as a vocabulary, so that text reaches the model through its own tokenizer.

The special ids of this package come first: piece t of the tokenizer has the id t + 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tellapart.text.vocabulary import END, SPECIAL, Vocabulary

SHIFT = len(SPECIAL)
"""Id of piece 0."""


class TokenizerVocabulary(Vocabulary):
    """The pieces of a tokenizer of `transformers`.

    Args:
        tokenizer: of `transformers`.
        size: rows of the model's word table, which may be more than the tokenizer has pieces.
    """

    def __init__(self, tokenizer: Any, size: int = 0) -> None:
        count = max(size, len(tokenizer))
        names = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
        names = [name or "" for name in names] + [""] * (count - len(names))
        seen = set(SPECIAL)
        words = list(SPECIAL)
        for piece, name in enumerate(names):
            word = name if name and name not in seen else f"{name}#{piece}"
            seen.add(word)
            words.append(word)
        super().__init__(tuple(words))
        object.__setattr__(self, "tokenizer", tokenizer)
        first, last = added_pieces(tokenizer)
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "last", last)

    tokenizer: Any
    first: tuple[int, ...]
    """Pieces that the tokenizer adds before a text."""
    last: tuple[int, ...]
    """Pieces that it adds after a text."""

    def encode_texts(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of the pieces of each text, without START and END."""
        if not len(texts):
            return []
        pieces = self.tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        return [[int(piece) + SHIFT for piece in row] for row in pieces]

    def decode(self, ids: Iterable[int]) -> str:
        """The text up to END, without special pieces."""
        pieces: list[int] = []
        for index in ids:
            if index == END:
                break
            if SHIFT <= index < SHIFT + len(self.tokenizer):
                pieces.append(int(index) - SHIFT)
        return str(self.tokenizer.decode(pieces, skip_special_tokens=True)).strip()

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """Ids of the pieces of words, as in a text."""
        return self.encode_texts([" ".join(tokens)])[0]


def added_pieces(tokenizer: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The pieces that a tokenizer adds before and after a text."""
    bare = list(tokenizer("a", add_special_tokens=False)["input_ids"])
    whole = list(tokenizer("a")["input_ids"])
    for start in range(len(whole) - len(bare) + 1):
        if whole[start : start + len(bare)] == bare:
            return tuple(whole[:start]), tuple(whole[start + len(bare) :])
    return (), ()
