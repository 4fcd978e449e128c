"""Words and their numbers."""

from pathlib import Path

import pytest

from tellapart.core.errors import InputError
from tellapart.text.vocabulary import END, PAD, START, UNK, Vocabulary


def test_ids_there_and_back(tmp_path: Path) -> None:
    vocabulary = Vocabulary.from_words(["dog", "🎉", "a"])
    assert (PAD, START, END, UNK) == (0, 1, 2, 3)
    assert vocabulary.encode(["a", "cat", "🎉"]) == [6, UNK, 5]
    assert vocabulary.decode([START, 6, UNK, 4, END, 5]) == "a dog"
    vocabulary.save(tmp_path / "vocabulary.json")
    assert Vocabulary.load(tmp_path / "vocabulary.json") == vocabulary


def test_bad_vocabularies_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has a word twice"):
        Vocabulary.from_words(["a", "a"])
    with pytest.raises(InputError, match="must begin with"):
        Vocabulary(("a", "b"))
    with pytest.raises(InputError, match="Cannot read the vocabulary"):
        Vocabulary.load(tmp_path / "none.json")
