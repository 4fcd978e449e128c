"""The intervals on the papers' pages are those of docs/results.md, which a command writes from stored runs."""

import re
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
NUMBER = r"-?\d+(?:\.\d+)?"
DIFFERENCE = re.compile(rf"({NUMBER})(?: of [\w -]+)? \[({NUMBER}),\s({NUMBER})\]")


def printed() -> set[tuple[str, str, str]]:
    """Every "value [low, high]" of the results page."""
    return set(DIFFERENCE.findall((DOCS / "results.md").read_text()))


def rounds_to(exact: str, written: str) -> bool:
    """Whether `exact` rounds to `written`, whose number of digits counts; a page may leave the sign to its words."""
    unit = Decimal(1).scaleb(Decimal(written).as_tuple().exponent)
    value = abs(Decimal(exact))
    return any(value.quantize(unit, way) == abs(Decimal(written)) for way in (ROUND_HALF_UP, ROUND_HALF_EVEN))


def has(figure: tuple[str, str, str], known: set[tuple[str, str, str]]) -> bool:
    """Whether a results page has this figure, in either direction of the difference."""
    value, low, high = figure
    return any(
        rounds_to(exact, value)
        and ((rounds_to(least, low) and rounds_to(most, high)) or (rounds_to(least, high) and rounds_to(most, low)))
        for exact, least, most in known
    )


@pytest.mark.parametrize("page", sorted(path.stem for path in (DOCS / "papers").glob("*.md")))
def test_intervals_are_those_of_the_results(page: str) -> None:
    known = printed()
    text = " ".join((DOCS / "papers" / f"{page}.md").read_text().split())
    wrong = [figure for figure in DIFFERENCE.findall(text) if not has(figure, known)]
    assert not wrong, f"{page}.md has intervals that results.md does not have: {wrong}"


def test_an_interval_that_no_run_has_is_noticed() -> None:
    known = {("14.27", "8.54", "19.97"), ("-11.58", "-20.17", "-2.93")}
    assert has(("14.3", "8.5", "20.0"), known)
    assert has(("11.6", "2.9", "20.2"), known)
    assert not has(("14.3", "9.7", "18.9"), known)
    assert not has(("14.3", "8.5", "20.1"), known)


def test_every_page_tells_what_its_method_is_worth() -> None:
    for page in (DOCS / "papers").glob("*.md"):
        text = page.read_text()
        assert re.search(r"[Ww]hat (it|the method) is worth", text), page.name
