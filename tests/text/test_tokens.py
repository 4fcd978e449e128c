"""What counts as a word, rule by rule."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.text.tokens import SPLITTERS, normal, split_all, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A dog's ball isn't the cats' .", ["a", "dog", "'s", "ball", "is", "n't", "the", "cats"]),
        (
            "He can't; they'll win 3.5 or 1,000 points at 10:30!",
            ["he", "ca", "n't", "they", "'ll", "win", "3.5", "or", "1,000", "points", "at", "10:30"],
        ),
        ("tri-colored T-shirt -- o'clock R&B", ["tri-colored", "t-shirt", "o'clock", "r&b"]),
        ("a horse 's lead", ["a", "horse", "'s", "lead"]),
        ("U.S. flag, 4x4 (red)", ["u.s.", "flag", "4x4", "red"]),
        ("Café naïve “quoted” it’s", ["café", "naïve", "quoted", "it", "'s"]),
        ("", []),
        (" . , ", []),
    ],
)
def test_ptb_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_marks_are_words_when_asked() -> None:
    assert split_words("Hi, a dog... (wet)!", "ptb-marks") == ["hi", ",", "a", "dog", "...", "(", "wet", ")", "!"]


def test_punctuation_is_deleted_from_within_words() -> None:
    """NeuralTalk2 and contrastive captioning remove characters; they do not split at them."""
    assert split_words("A t-shirt, size 12.", "no-punctuation") == ["a", "tshirt", "size", "12"]
    assert split_words("A t-shirt, size 12.", "letters") == ["a", "tshirt", "size"]


def test_emojis_are_words_one_by_one() -> None:
    family, flag, thumb, keycap = "👨‍👩‍👧", "🇫🇷", "👍🏽", "1️⃣"
    text = f"love❤️❤️ {family}{flag} so {thumb}{keycap}"
    assert split_words(text, "letters") == ["love", "❤️", "❤️", family, flag, "so", thumb, keycap]
    assert split_words(text, "ptb") == ["love", "❤️", "❤️", family, flag, "so", thumb, keycap]


def test_composed_and_decomposed_letters_are_one_word() -> None:
    assert split_words("café") == split_words("cafe\u0301") == ["café"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="aB'n t.,-’é👍🏽12\n", max_size=25), max_size=4), st.sampled_from(sorted(SPLITTERS)))
def test_many_at_once_equals_one_by_one(texts: list[str], rule: str) -> None:
    assert split_all(texts, rule) == [split_words(text, rule) for text in texts]


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="aB'nt .,-é👍🏽12", max_size=30))
def test_words_keep_their_place(text: str) -> None:
    text = normal(text)
    for word in SPLITTERS["ptb-marks"].words(text):
        assert text[word.start : word.end] == word.text
