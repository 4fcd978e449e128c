"""Claims on cells whose answer is plain."""

import numpy as np
import pytest

from tellapart.reproduce.claims import (
    FEW_SEEDS,
    HELD,
    NOT_HELD,
    NOT_MEASURED,
    NOT_RUN,
    SPANS,
    UNDECIDED,
    check_claim,
    describe,
)
from tellapart.reproduce.paper_gains import paper_gains
from tellapart.reproduce.statistics import Cell
from tellapart.reproduce.table import (
    Above,
    Below,
    Check,
    Claim,
    Column,
    Greater,
    Row,
    SpreadBelow,
    Table,
    Within,
)
from tellapart.runs.recipe import Recipe

CELLS = {
    ("high", "c"): Cell({0: 10.0, 1: 10.1, 2: 9.9}),
    ("low", "c"): Cell({0: 5.0, 1: 4.9, 2: 5.1}),
    ("wild", "c"): Cell({0: 0.0, 1: 20.0, 2: 5.0}),
    ("single", "c"): Cell({0: 7.0}),
}


@pytest.mark.parametrize(
    ("check", "verdict"),
    [
        (Greater("high", "low", "c"), HELD),
        (Greater("high", "low", "c", by=7.0), NOT_HELD),
        (Greater("low", "high", "c"), NOT_HELD),
        (Greater("high", "wild", "c"), UNDECIDED),
        (Greater("high", "single", "c"), HELD),
        (Greater("high", "absent", "c"), UNDECIDED),
        (Greater(("high", "low"), "low", "c"), HELD),
        (Within("high", "low", "c", 6.0), HELD),
        (Within("high", "low", "c", 2.0), NOT_HELD),
        (Within("high", "wild", "c", 2.0), UNDECIDED),
        (Within("high", "single", "c", 2.0), NOT_HELD),
        (Below("low", "c", 6.0), HELD),
        (Below("high", "c", 6.0), NOT_HELD),
        (Below("wild", "c", 6.0), UNDECIDED),
        (Above("high", "c", 6.0), HELD),
        (Above("low", "c", 6.0), NOT_HELD),
        (SpreadBelow("high", "c", 2.0), HELD),
        (SpreadBelow("wild", "c", 0.5), NOT_HELD),
        (SpreadBelow("single", "c", 2.0), UNDECIDED),
    ],
)
def test_one_check(check: Check, verdict: str) -> None:
    judged = check_claim(Claim("", (check,)), CELLS)
    assert judged.verdict == verdict
    assert check.column in describe(check)


def test_a_claim_is_as_good_as_its_worst_check() -> None:
    good, open_, bad = Greater("high", "low", "c"), Greater("high", "wild", "c"), Greater("low", "high", "c")
    assert check_claim(Claim("", (good, open_)), CELLS).verdict == UNDECIDED
    assert check_claim(Claim("", (good, open_, bad)), CELLS).verdict == NOT_HELD


FLAT, WIDE = np.zeros(2000), np.linspace(-9, 9, 2000)
REASONED = {
    ("zero", "c"): Cell({0: 0.0, 1: 0.0, 2: 0.0}, {seed: FLAT for seed in range(3)}),
    ("seeds", "c"): Cell({0: 9.0, 1: 1.0, 2: -1.0}, {seed: FLAT + 3 for seed in range(3)}),
    ("images", "c"): Cell({0: 9.0, 1: 1.0, 2: -1.0}, {seed: WIDE + 3 for seed in range(3)}),
    ("bare", "c"): Cell({0: 9.0, 1: 1.0, 2: -1.0}),
    ("five", "c"): Cell({seed: value for seed, value in enumerate((9.0, 1.0, -1.0, 4.0, -3.0))}),
    ("zeros", "c"): Cell(dict.fromkeys(range(5), 0.0)),
    ("one", "c"): Cell({0: 3.0}, {0: FLAT + 3}),
    ("alone", "c"): Cell({0: 0.0}, {0: FLAT}),
    ("bare one", "c"): Cell({0: 3.0}),
}


@pytest.mark.parametrize(
    ("checks", "reason"),
    [
        ((Greater("seeds", "zero", "c"),), FEW_SEEDS),
        ((Greater("bare", "zero", "c"),), FEW_SEEDS),
        ((Greater("images", "zero", "c"),), SPANS),
        ((Greater("five", "zeros", "c"),), SPANS),
        ((Greater("bare one", "alone", "c"),), FEW_SEEDS),
        ((Within("seeds", "zero", "c", 5.0),), FEW_SEEDS),
        ((Above("images", "c", 1.0),), SPANS),
        ((SpreadBelow("seeds", "c", 6.0),), FEW_SEEDS),
        ((Greater("absent", "zero", "c"),), NOT_RUN),
        ((Greater("seeds", "zero", "other"),), NOT_MEASURED),
        ((Greater("images", "zero", "c"), Greater("absent", "zero", "c")), NOT_RUN),
        ((Greater("images", "zero", "c"), Greater("seeds", "zero", "c")), FEW_SEEDS),
    ],
)
def test_why_a_claim_is_undecided(checks: tuple[Check, ...], reason: str) -> None:
    judged = check_claim(Claim("", checks), REASONED)
    assert (judged.verdict, judged.reason) == (UNDECIDED, reason)


def test_decided_claims_have_no_reason_and_know_their_seeds() -> None:
    of_one = check_claim(Claim("", (Greater("one", "alone", "c"),)), REASONED)
    assert (of_one.verdict, of_one.reason, of_one.one_seed) == (HELD, "", True)
    of_three = check_claim(Claim("", (Greater("high", "low", "c"),)), CELLS)
    assert (of_three.verdict, of_three.reason, of_three.one_seed) == (HELD, "", False)
    both = check_claim(Claim("", (Greater("high", "low", "c"), Greater("one", "alone", "c"))), {**CELLS, **REASONED})
    assert (both.verdict, both.one_seed) == (HELD, True)
    fails = Greater("low", "high", "c"), Greater("alone", "one", "c")
    assert not check_claim(Claim("", fails), {**CELLS, **REASONED}).one_seed


@pytest.mark.parametrize(
    ("gap", "gain", "verdict"),
    [
        ((-1.0, 1.0, 0.0), 40.0, NOT_HELD),  # surely less than half of the paper's 40
        ((-1.0, 1.0, 0.0), 2.0, UNDECIDED),  # half of the paper's gain is within the interval
        ((1.0, 1.2, 0.8), 40.0, HELD),  # smaller than the paper's, but surely a gain
        ((-1.0, 1.0, 0.0), None, UNDECIDED),
    ],
)
def test_a_gain_is_judged_by_the_size_of_the_papers(gap: tuple[float, ...], gain: float | None, verdict: str) -> None:
    cells = {("a", "c"): Cell(dict(enumerate(gap))), ("b", "c"): Cell({0: 0.0, 1: 0.0, 2: 0.0})}
    judged = check_claim(Claim("", (Greater("a", "b", "c"),)), cells, lambda check: gain)
    assert judged.verdict == verdict
    assert ("paper" in judged.checks[0].text) == (gain is not None)


@pytest.mark.parametrize(
    ("column", "gap", "by", "verdict", "said"),
    [
        ("R@sum", (-1.0, 1.0, 0.0), 0.0, NOT_HELD, True),  # surely below 5
        ("R@sum", (-4.0, 4.0, 0.0), 0.0, UNDECIDED, False),  # the interval reaches beyond 5
        ("R@sum", (1.0, 1.2, 0.8), 0.0, HELD, False),  # small, but surely a gain
        ("R@sum", (-9.0, -9.1, -9.2), 0.0, NOT_HELD, False),  # a loss, whatever the limit
        ("R@sum", (-1.0, 1.0, 0.0), -1.0, UNDECIDED, False),  # such a claim names a limit
        ("CIDEr", (-1.0, 1.0, 0.0), 0.0, UNDECIDED, False),  # 2.5 is more than 2
        ("CIDEr", (-0.5, 0.5, 0.0), 0.0, NOT_HELD, True),
        ("top-1", (-0.5, 0.5, 0.0), 0.0, UNDECIDED, False),
    ],
)
def test_without_a_number_of_the_paper_a_little_gain_is_none(
    column: str, gap: tuple[float, ...], by: float, verdict: str, said: bool
) -> None:
    cells = {("a", column): Cell(dict(enumerate(gap))), ("b", column): Cell({0: 0.0, 1: 0.0, 2: 0.0})}
    judged = check_claim(Claim("", (Greater("a", "b", column, by),)), cells)
    assert judged.verdict == verdict
    assert ("is none" in judged.checks[0].text) == said
    published = check_claim(Claim("", (Greater("a", "b", column),)), cells, lambda check: 100.0)
    assert "is none" not in published.checks[0].text


def test_a_row_near_the_ceiling_has_no_room_for_the_papers_gain() -> None:
    cells = {("a", "c"): Cell({0: 99.9, 1: 99.7, 2: 99.8}), ("b", "c"): Cell({0: 99.8, 1: 99.8, 2: 99.8})}
    judged = check_claim(Claim("", (Greater("a", "b", "c"),)), cells, lambda check: 9.0)
    assert judged.verdict == UNDECIDED


def test_the_papers_gain_is_its_smallest_positive_one() -> None:
    recipe = Recipe(name="r", paper="", about="", stages=())
    rows = (
        Row("a", recipe, published={"x": (1.0, 10.0), "y": (1.0, 8.0), "z": (1.0, None)}),
        Row("b", recipe, published={"x": (1.0, 4.0), "y": (1.0, 6.0), "z": (1.0, 1.0)}),
        Row("c", recipe),
    )
    table = Table("t/t", "", "", rows=rows, columns=(Column("first", "m"), Column("second", "n")))
    gain = paper_gains(table)
    assert gain(Greater("a", "b", "second")) == 2.0  # y; z has no value of a
    assert gain(Greater("b", "a", "second")) is None  # never positive
    assert gain(Greater("a", "c", "second")) is None
    assert gain(Within("a", "b", "second", 1.0)) is None
    assert gain(Greater(("a", "b"), "b", "second")) == 1.0
