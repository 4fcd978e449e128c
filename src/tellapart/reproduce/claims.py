"""Whether claims hold: held, not held, or undecided with this much data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tellapart.reproduce.statistics import Cell, Estimate, difference, mean_cell, spread
from tellapart.reproduce.table import Above, Below, Check, Claim, Greater, Rows, Within, as_rows

HELD, NOT_HELD, UNDECIDED = "held", "not held", "undecided"
Cells = Mapping[tuple[str, str], Cell]
"""By (row, column)."""


@dataclass(frozen=True)
class CheckResult:
    """One inequality and its verdict."""

    text: str
    verdict: str
    estimate: Estimate | None
    """The difference, value or deviation that was checked; None where a row has no result."""


@dataclass(frozen=True)
class CheckedClaim:
    """A claim and its verdict."""

    claim: Claim
    verdict: str
    checks: tuple[CheckResult, ...]


def check_claim(claim: Claim, cells: Cells) -> CheckedClaim:
    """A claim holds if all its checks do, and does not if one of them does not."""
    checks = tuple(_check(check, cells) for check in claim.checks)
    verdicts = {check.verdict for check in checks}
    verdict = NOT_HELD if NOT_HELD in verdicts else UNDECIDED if UNDECIDED in verdicts else HELD
    return CheckedClaim(claim, verdict, checks)


def _check(check: Check, cells: Cells) -> CheckResult:
    text = describe(check)
    if isinstance(check, Greater | Within):
        names = (check.better, check.worse) if isinstance(check, Greater) else (check.first, check.second)
        first, second = (_cell(name, check.column, cells) for name in names)
        if first is None or second is None:
            return CheckResult(text, UNDECIDED, None)
        gap = difference(first, second)
        if isinstance(check, Greater):
            return CheckResult(text, _side(gap.low, gap.high, check.by), gap)
        return CheckResult(text, _inside(gap, check.limit), gap)
    own = _cell(check.row, check.column, cells)
    if own is None:
        return CheckResult(text, UNDECIDED, None)
    if isinstance(check, Above):
        estimate = own.estimate()
        return CheckResult(text, _side(estimate.low, estimate.high, check.limit), estimate)
    estimate = own.estimate() if isinstance(check, Below) else spread(own)
    return CheckResult(text, _side(-estimate.high, -estimate.low, -check.limit), estimate)


def _side(low: float, high: float, bound: float) -> str:
    """Held for an interval above the bound, not held for one below it; NaN compares false, so it is undecided."""
    return HELD if low > bound else NOT_HELD if high < bound else UNDECIDED


def _inside(gap: Estimate, limit: float) -> str:
    if math.isnan(gap.low):
        return UNDECIDED
    if -limit < gap.low and gap.high < limit:
        return HELD
    return NOT_HELD if gap.low > limit or gap.high < -limit else UNDECIDED


def _cell(rows: Rows, column: str, cells: Cells) -> Cell | None:
    names = as_rows(rows)
    if any((name, column) not in cells for name in names):
        return None
    return mean_cell([cells[name, column] for name in names]) if len(names) > 1 else cells[names[0], column]


def describe(check: Check) -> str:
    """The inequality as text."""
    if isinstance(check, Greater):
        more = f" by more than {check.by:g}" if check.by else ""
        return f"{check.column}: {_named(check.better)} > {_named(check.worse)}{more}"
    if isinstance(check, Within):
        return f"{check.column}: {_named(check.first)} and {_named(check.second)} within {check.limit:g}"
    if isinstance(check, Below | Above):
        sign = "<" if isinstance(check, Below) else ">"
        return f"{check.column}: {_named(check.row)} {sign} {check.limit:g}"
    return f"{check.column}: deviation of {check.row} over seeds < {check.limit:g}"


def _named(rows: Rows) -> str:
    names = as_rows(rows)
    if len(names) == 1:
        return names[0]
    common = [part for part in names[0].split(", ") if all(part in name.split(", ") for name in names)]
    return f"mean of {len(names)} rows ({', '.join(common)})" if common else f"mean of {len(names)} rows"
