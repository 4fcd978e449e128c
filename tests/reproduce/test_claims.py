"""Claims on cells whose answer is plain."""

import pytest

from tellapart.reproduce.claims import HELD, NOT_HELD, UNDECIDED, check_claim, describe
from tellapart.reproduce.statistics import Cell
from tellapart.reproduce.table import Above, Below, Check, Claim, Greater, SpreadBelow, Within

CELLS = {
    ("high", "c"): Cell({0: 10.0, 1: 10.1, 2: 9.9}),
    ("low", "c"): Cell({0: 5.0, 1: 5.1, 2: 4.9}),
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
        (Greater("high", "single", "c"), UNDECIDED),
        (Greater("high", "absent", "c"), UNDECIDED),
        (Greater(("high", "low"), "low", "c"), HELD),
        (Within("high", "low", "c", 6.0), HELD),
        (Within("high", "low", "c", 2.0), NOT_HELD),
        (Within("high", "wild", "c", 2.0), UNDECIDED),
        (Within("high", "single", "c", 2.0), UNDECIDED),
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
