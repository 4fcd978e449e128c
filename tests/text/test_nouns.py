"""Nouns, against HanTa's own sentence tagger."""

import numpy as np
import pytest

from tellapart.core.errors import InputError
from tellapart.text.nouns import NOUN_TAGS, mark_nouns

SENTENCES = [
    ["a", "black", "dog", "and", "a", "spotted", "dog", "are", "fighting"],
    ["two", "men", "in", "red", "shirts", "watch", "the", "race", "from", "a", "bench"],
    ["the", "girl", "paints"],
    ["a", "man", "rides", "his", "bike", "up", "the", "steep", "hill", "while", "others", "watch"],
    ["😀", "at", "the", "beach", "with", "3", "xqzt"],
    ["jumping"],
    [],
]


def test_agrees_with_hantas_own_search() -> None:
    hanta = pytest.importorskip("HanTa.HanoverTagger").HanoverTagger("morphmodel_en.pgz")
    for sentence, mask in zip(SENTENCES, mark_nouns(SENTENCES), strict=True):
        tags = hanta.tag_sent(sentence, taglevel=0, casesensitive=False)
        assert mask.tolist() == [tag in NOUN_TAGS for tag in tags], sentence


def test_marks_the_obvious() -> None:
    marked = [
        [w for w, noun in zip(s, mask, strict=True) if noun]
        for s, mask in zip(SENTENCES, mark_nouns(SENTENCES), strict=True)
    ]
    assert marked[0] == ["dog", "dog"]
    assert marked[1] == ["men", "shirts", "race", "bench"]


def test_order_and_neighbours_do_not_matter() -> None:
    alone = [mark_nouns([sentence])[0] for sentence in SENTENCES]
    together = mark_nouns(SENTENCES[::-1] + SENTENCES[:2])[: len(SENTENCES)][::-1]
    assert all(np.array_equal(one, two) for one, two in zip(alone, together, strict=True))


def test_unknown_tagger_is_rejected() -> None:
    with pytest.raises(InputError, match="one of hanta, spacy, not 'nltk'"):
        mark_nouns([["a"]], "nltk")
