"""Text rules and their presets."""

import pytest

from tellapart.core.errors import InputError
from tellapart.text.rules import PRESETS, TextRules, preset


def test_vocabulary_keeps_words_seen_often_enough() -> None:
    """a x3, dog x2, cat x1 with a minimum of 2: a, dog in that order after the four special tokens."""
    vocabulary = TextRules(min_count=2).build_vocabulary([["a", "dog"], ["a", "dog", "a"], ["cat"]])
    assert vocabulary.words[4:] == ("a", "dog")


def test_words_of_labels_stay_however_rare() -> None:
    vocabulary = TextRules(min_count=2).build_vocabulary([["a", "a", "zebra"]], always=["zebra", "giraffe"])
    assert vocabulary.words[4:] == ("a", "zebra", "giraffe")


def test_captions_are_cut() -> None:
    assert TextRules(max_length=3).split(["A dog runs home.", "One"]) == [["a", "dog", "runs"], ["one"]]


@pytest.mark.parametrize(
    ("name", "min_count", "max_length", "vocabulary"),
    [
        ("contrastive-captioning", 5, 18, "train"),
        ("neuraltalk", 6, 16, "train"),
        ("grounded-captioning", 5, 16, "train"),
        ("vse", 4, None, "train"),
        ("ltd", 0, None, "all"),
        ("r2m", 15, None, "corpus"),
        ("default", 5, None, "train"),
    ],
)
def test_presets_hold_the_papers_values(name: str, min_count: int, max_length: int | None, vocabulary: str) -> None:
    rules = preset(name)
    assert (rules.min_count, rules.max_length, rules.vocabulary) == (min_count, max_length, vocabulary)


def test_every_preset_is_tested_above() -> None:
    assert len(PRESETS) == 7


def test_wrong_rules_are_rejected() -> None:
    with pytest.raises(InputError, match="not 'vsee'"):
        preset("vsee")
    with pytest.raises(InputError, match="not 'chars'"):
        TextRules(words="chars")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must be at least 1"):
        TextRules(max_length=0)
