"""Phrases to single words: heads, lemmas, classes."""

from pathlib import Path

import pytest

from tellapart.core.errors import InputError
from tellapart.text.lemmas import noun_lemma
from tellapart.text.object_words import ObjectClasses, head_word


@pytest.mark.parametrize(
    ("phrase", "nouns", "head"),
    [
        ("a dog", "dog", "dog"),
        ("a red and black striped shirt", "shirt", "shirt"),
        ("a sweatshirt jacket", "sweatshirt jacket", "jacket"),
        ("a group of young people", "group people", "people"),
        ("a large crowd of people", "crowd people", "people"),
        ("a bucket of water", "bucket water", "bucket"),
        ("a pile of a lot of leaves", "pile lot leaves", "leaves"),
        ("a man in a hat", "man hat", "man"),
        ("a sled", "", "sled"),
        ("in yellow", "yellow", None),
        ("all white", "", None),
        ("the other", "", None),
        ("one", "", None),
        ("another two", "", None),
        ("group of", "group", "group"),
    ],
)
def test_head_of_a_phrase(phrase: str, nouns: str, head: str | None) -> None:
    words = phrase.split()
    found = head_word(words, [word in nouns.split() for word in words])
    assert (None if found is None else words[found]) == head


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("dogs", "dog"), ("women", "woman"), ("firemen", "fireman"), ("grandchildren", "grandchild"),
        ("puppies", "puppy"), ("cookies", "cookie"), ("benches", "bench"), ("boxes", "box"), ("buses", "bus"),
        ("houses", "house"),
        ("horses", "horse"), ("shoes", "shoe"), ("potatoes", "potato"), ("grass", "grass"), ("bus", "bus"),
        ("jeans", "jeans"), ("sheep", "sheep"), ("people", "people"), ("leaves", "leaf"), ("skis", "ski"),
        ("scarves", "scarf"), ("tennis", "tennis"), ("dresses", "dress"), ("canoes", "canoe"),
        ("axes", "axe"), ("a", "a"),
    ],
)  # fmt: skip
def test_lemmas(many: str, one: str) -> None:
    assert noun_lemma(many) == one
    assert noun_lemma(one) == one


def test_classes_are_the_frequent_lemmas() -> None:
    classes = ObjectClasses.counted(["dog"] * 3 + ["cat"] * 3 + ["man"] * 5 + ["kite"], least=2, most=2)
    assert classes.names == ("man", "cat")
    assert [classes.of(word) for word in ("men", "cats", "dog")] == [0, 1, -1]


def test_own_class_list(tmp_path: Path) -> None:
    listed = tmp_path / "classes.txt"
    listed.write_text("# mine\nDogs\n\nball\ndog\n", encoding="utf-8")
    assert ObjectClasses.from_file(listed).names == ("dog", "ball")
    listed.write_text("hot dog\n", encoding="utf-8")
    with pytest.raises(InputError, match="more than one word"):
        ObjectClasses.from_file(listed)
    with pytest.raises(InputError, match="Cannot read"):
        ObjectClasses.from_file(tmp_path / "none.txt")
