"""Diversity figures by hand."""

from tellapart.metrics.captions.diversity import diversity


def test_by_hand() -> None:
    """8 words, 5 of them different; pairs: "a dog" twice, "dog runs", "a cat", "cat": 4 different of 5; 3 captions, all
    different, one of them known."""
    found = diversity(["a dog runs", "a dog", "a big cat"], training=["a dog", "unused"])
    assert found["vocabulary"] == 5 and found["distinct-1"] == 62.5
    assert found["distinct-2"] == 80 and found["distinct"] == 100
    assert found["novel"] == 66.67 and found["length"] == 2.67


def test_one_sentence_for_all() -> None:
    found = diversity(["a man"] * 4)
    assert found["distinct"] == 25 and "novel" not in found


def test_no_words_at_all() -> None:
    assert diversity([""])["vocabulary"] == 0 and diversity([])["distinct"] == 0
    assert diversity([""])["length"] == diversity([])["length"] == 0
