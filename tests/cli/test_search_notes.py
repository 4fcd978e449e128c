"""What `search` says about a whole answer, apart from the photos."""

import pytest

from tellapart.cli.search import SearchOptions, notes
from tellapart.search.answer import Answer
from tellapart.search.lexicon import UnknownWord

NEAREST = "Use --everything to see the nearest ones."


@pytest.mark.parametrize(
    ("given", "calibrated", "note"),
    [
        ({}, True, f"No photo matches 'a cat'. {NEAREST}"),
        ({"camera": "canon"}, True, f"No photo matches 'a cat' among those that pass the filters. {NEAREST}"),
        ({"camera": "canon", "everything": True}, True, "No photo passes the filters."),
        ({"folder": "photos"}, False, "No photo passes the filters."),
        ({}, False, "No photo matches 'a cat'."),
    ],
)
def test_why_there_is_nothing(given: dict[str, object], calibrated: bool, note: str) -> None:
    options = SearchOptions("photos.index", ("a", "cat"), **given)  # type: ignore[arg-type]
    assert notes(Answer(calibrated=calibrated), options) == [note]


def test_unknown_words_come_first() -> None:
    answer = Answer(unknown=(UnknownWord("cta", ("cat",)),), calibrated=True)
    said = notes(answer, SearchOptions("photos.index", ("a", "cta")))
    assert said == ["Unknown word 'cta'. Did you mean 'cat'?", f"No photo matches 'a cta'. {NEAREST}"]
