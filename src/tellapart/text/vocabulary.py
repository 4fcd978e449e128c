"""Words and their ids. The four special tokens have the same ids in every pack and run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.core.files import read_json, write_text

PAD, START, END, UNK = 0, 1, 2, 3
SPECIAL = ("<pad>", "<start>", "<end>", "<unk>")


@dataclass(frozen=True)
class Vocabulary:
    """An ordered set of words; `words[:4]` are the special tokens.

    >>> vocabulary = Vocabulary.from_words(["a", "dog", "runs"])
    >>> vocabulary.encode(["a", "cat", "runs"])
    [4, 3, 6]
    >>> vocabulary.decode([1, 4, 5, 6, 2, 0, 0])
    'a dog runs'
    """

    words: tuple[str, ...]
    ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.words[:4] != SPECIAL:
            raise InputError(f"A vocabulary must begin with {', '.join(SPECIAL)}; this one begins {self.words[:4]}.")
        ids = {word: index for index, word in enumerate(self.words)}
        if len(ids) != len(self.words):
            raise InputError("The vocabulary has a word twice; remove the second.")
        object.__setattr__(self, "ids", ids)

    @classmethod
    def from_words(cls, words: Iterable[str]) -> Vocabulary:
        """The special tokens, then these words."""
        return cls(SPECIAL + tuple(words))

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """Ids of the words, UNK for unknown ones; without START and END."""
        return [self.ids.get(token, UNK) for token in tokens]

    def decode(self, ids: Iterable[int]) -> str:
        """The text up to END, without special tokens."""
        kept: list[str] = []
        for index in ids:
            if index == END:
                break
            if index > UNK:
                kept.append(self.words[index])
        return " ".join(kept)

    def save(self, path: Path) -> None:
        """Write the words as JSON."""
        write_text(path, json.dumps(list(self.words), ensure_ascii=False, indent=0))

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """The vocabulary that `save` wrote."""
        try:
            words = read_json(path)
        except (OSError, InputError) as error:
            raise InputError(f"Cannot read the vocabulary {path}: {error} Prepare the data again.") from error
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise InputError(f"The vocabulary {path} is not a list of words; prepare the data again.")
        return cls(tuple(words))
