"""What references confirm: numbers, sexes, amounts and forms of verbs, by hand."""

import numpy as np
import pytest

from tellapart.text.confirmed import claims, confirmed_table, confirmed_words

CASES = {
    "dogs": (["a dog on a bed"], False),
    "dog": (["two dogs on a bed"], False),
    "pizzas": (["a pan", "pizzas in an oven"], True),
    "couple": (["one person and a dog"], False),
    "two": (["a pair of shoes"], True),
    "three": (["four people"], False),
    "group": (["several men at a table"], True),
    "row": (["benches line a path"], True),
    "people": (["a man and a woman at a table"], True),
    "person": (["two women at a table"], False),
    "women": (["a man and a woman at a table"], False),
    "man": (["a woman with a pan", "a person in a kitchen"], False),
    "woman": (["a person in a kitchen"], True),
    "girl": (["a lady rides"], True),
    "riding": (["he rides a horse"], True),
    "sitting": (["a cat sits there"], True),
    "closed": (["a close up of a cat"], False),
    "topped": (["a cup on top of a table"], False),
    "sofa": (["an old couch"], True),
    "skis": (["a man on skis"], True),
}


@pytest.mark.parametrize("word", CASES)
def test_words_are_confirmed_in_their_number(word: str) -> None:
    references, expected = CASES[word]
    assert confirmed_words([word], references).tolist() == [expected]


def test_a_table_is_the_same_for_many_images() -> None:
    words, groups = list(CASES), [references for references, _ in CASES.values()]
    expected = np.stack([confirmed_words(words, references) for references in groups])
    np.testing.assert_array_equal(confirmed_table(words, groups), expected)
    assert confirmed_table(words, []).shape == (0, len(words))


def test_a_parking_lot_is_no_amount() -> None:
    assert claims("a couple of cars in a parking lot with lots of people") == [
        "couple", "cars", "parking", "lots", "people"
    ]  # fmt: skip
