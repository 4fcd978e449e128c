"""A pack whose captions are cut by a model's own tokenizer, for models that read text through it."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Column
from tellapart.text.model_tokenizer import TokenizerVocabulary


class OwnTextPack(Pack):
    """The same images and captions; token ids are those of the tokenizer, computed when they are first read.

    Columns with one row per word do not fit: the tokenizer has other words.
    """

    def __init__(self, pack: Pack, vocabulary: TokenizerVocabulary) -> None:
        super().__init__(pack.folder)
        self._pack, self._vocabulary = pack, vocabulary

    @property
    def of_words(self) -> Pack:
        """The pack as it was prepared."""
        return self._pack

    @cached_property
    def vocabulary(self) -> TokenizerVocabulary:
        """The pieces of the tokenizer."""
        return self._vocabulary

    @cached_property
    def _pieces(self) -> tuple[np.ndarray, np.ndarray]:
        rows = self.vocabulary.encode_texts([caption.text for caption in self.captions])
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        flat = np.fromiter((piece for row in rows for piece in row), np.int32, int(offsets[-1]))
        return flat, offsets

    @cached_property
    def tokens(self) -> np.ndarray:
        """Piece ids of all captions, concatenated."""
        return self._pieces[0]

    @cached_property
    def offsets(self) -> np.ndarray:
        """[C + 1], see `tokens`."""
        return self._pieces[1]

    def column(self, name: str) -> Column:
        """A column of captions or images."""
        found = self._pack.column(name)
        if found.per == "token":
            raise InputError(
                f"The column '{name}' has one row per word of the pack, but this model reads text with its own "
                "tokenizer; leave the column out."
            )
        return found

    def has_column(self, name: str) -> bool:
        """Whether the pack has this column, and it is not one of words."""
        return super().has_column(name) and self._pack.column(name).per != "token"


def pack_of_words(pack: Pack) -> Pack:
    """The pack whose tokens are words: the one that a model with its own tokenizer reads otherwise, or the pack."""
    return pack.of_words if isinstance(pack, OwnTextPack) else pack


def with_own_text(pack: Pack, vocabulary: object) -> Pack:
    """The pack as a model with this vocabulary reads it: itself, unless the model has its own tokenizer."""
    if not isinstance(vocabulary, TokenizerVocabulary) or pack.vocabulary is vocabulary:
        return pack
    return OwnTextPack(pack, vocabulary)
