"""Whether claims hold: held, not held, or undecided with this much data, and then why."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tellapart.reproduce.comparisons import against_bound, difference
from tellapart.reproduce.statistics import Cell, Estimate, mean_cell, spread
from tellapart.reproduce.table import Above, Below, Check, Claim, Greater, Rows, SpreadBelow, Within, as_rows

HELD, NOT_HELD, UNDECIDED = "held", "not held", "undecided"
NOT_RUN, NOT_MEASURED = "not run", "not measured"
FEW_SEEDS, SPANS = "too few seeds", "interval spans the bound"
REASONS = (NOT_RUN, NOT_MEASURED, FEW_SEEDS, SPANS)
"""Why a check is undecided. A claim has the first reason of its checks."""
ENOUGH_SEEDS = 5
"""Student's factor is 1.4 times the normal one with five seeds, 2.2 times with three."""
SHARE_OF_GAIN = 0.5
"""A gain that is surely below this share of the paper's does not replicate it: such a check is not held."""
LITTLE = {"R@sum": 5.0, "CIDEr": 2.0, "C": 2.0, "B-4": 1.0}
"""By column, the limit below which the tables call a difference little. Where the paper gives no numbers, a check is
not held if its interval includes 0 and ends below this limit."""
PERCENT = 100.0
Cells = Mapping[tuple[str, str], Cell]
"""By (row, column)."""
Gains = Callable[[Check], float | None]
"""The paper's own difference between the rows of a check, where it has one."""


def no_gain(check: Check) -> float | None:
    """For claims that a paper gives no numbers for."""
    return None


@dataclass(frozen=True)
class CheckResult:
    """One inequality and its verdict."""

    text: str
    verdict: str
    estimate: Estimate | None
    """The difference, value or deviation that was checked; None where a row has no result."""
    reason: str = ""
    """One of `REASONS` where it is undecided."""


@dataclass(frozen=True)
class CheckedClaim:
    """A claim and its verdict."""

    claim: Claim
    verdict: str
    checks: tuple[CheckResult, ...]

    @property
    def reason(self) -> str:
        """Why it is undecided; empty where it is decided."""
        if self.verdict != UNDECIDED:
            return ""
        return min((check.reason for check in self.checks if check.reason), key=REASONS.index)

    @property
    def one_seed(self) -> bool:
        """Whether a check that the verdict rests on knows one seed of a row only."""
        alone = [check.estimate is not None and check.estimate.seeds == 1 for check in self._deciding]
        # One check that fails is enough for "not held"; "held" needs all of them.
        return any(alone) if self.verdict == HELD else all(alone)

    @property
    def _deciding(self) -> list[CheckResult]:
        return [check for check in self.checks if check.verdict == self.verdict]


def check_claim(claim: Claim, cells: Cells, gains: Gains = no_gain) -> CheckedClaim:
    """A claim holds if all its checks do, and does not if one of them does not."""
    checks = tuple(_check(check, cells, gains(check)) for check in claim.checks)
    verdicts = {check.verdict for check in checks}
    verdict = NOT_HELD if NOT_HELD in verdicts else UNDECIDED if UNDECIDED in verdicts else HELD
    return CheckedClaim(claim, verdict, checks)


def _check(check: Check, cells: Cells, gain: float | None) -> CheckResult:
    text = describe(check) + (f" (paper: {gain:+.4g})" if gain is not None else "")
    compared = isinstance(check, Greater | Within)
    if isinstance(check, Greater):
        names: tuple[Rows, ...] = (check.better, check.worse)
    else:
        names = (check.first, check.second) if isinstance(check, Within) else (check.row,)
    found = [cell for cell in (_cell(name, check.column, cells) for name in names) if cell is not None]
    if len(found) < len(names):
        return CheckResult(text, UNDECIDED, None, _why_absent(names, cells))
    if compared:
        estimate = difference(*found)
        least = _least_gain(check, gain, found[1])
    else:
        estimate = spread(found[0]) if isinstance(check, SpreadBelow) else against_bound(found[0])
        least = None
    verdict = _verdict(check, estimate.low, estimate.high, least)
    if gain is None and verdict == NOT_HELD != _verdict(check, estimate.low, estimate.high, None):
        text += f" (below {least:g} is none)"
    return CheckResult(text, verdict, estimate, _why_open(check, estimate, least) if verdict == UNDECIDED else "")


def _least_gain(check: Check, gain: float | None, worse: Cell) -> float | None:
    """The smallest gain worth claiming, if there is one."""
    if gain is not None:
        return None if _no_room(worse, gain) else SHARE_OF_GAIN * gain
    return _little(check)


def _little(check: Check) -> float | None:
    return LITTLE.get(check.column) if isinstance(check, Greater) and check.by == 0 else None


def _verdict(check: Check, low: float, high: float, least: float | None) -> str:
    """The verdict for an interval. A difference below the smallest gain worth claiming is none, even above 0."""
    if isinstance(check, Greater) and least is not None and low <= check.by and high < least:
        return NOT_HELD
    if isinstance(check, Within):
        return _inside(low, high, check.limit)
    if isinstance(check, Greater | Above):
        return _side(low, high, check.by if isinstance(check, Greater) else check.limit)
    return _side(-high, -low, -check.limit)


def _no_room(worse: Cell, gain: float) -> bool:
    """Whether a share in percent is so close to 100 that half of the paper's gain would not fit above it."""
    mean = sum(worse.values.values()) / len(worse.values)
    return mean <= PERCENT < mean + SHARE_OF_GAIN * gain


def _why_absent(names: tuple[Rows, ...], cells: Cells) -> str:
    run = {row for row, _ in cells}
    return NOT_MEASURED if all(row in run for rows in names for row in as_rows(rows)) else NOT_RUN


def _why_open(check: Check, estimate: Estimate, least: float | None) -> str:
    """Too few seeds where more of them could decide: without any difference between seeds, the check is decided."""
    if math.isnan(estimate.low):
        return FEW_SEEDS
    if estimate.seeds >= ENOUGH_SEEDS:
        return SPANS
    return SPANS if estimate.images and _verdict(check, *estimate.images, least) == UNDECIDED else FEW_SEEDS


def _side(low: float, high: float, bound: float) -> str:
    """Held for an interval above the bound, not held for one below it; NaN compares false, so it is undecided."""
    return HELD if low > bound else NOT_HELD if high < bound else UNDECIDED


def _inside(low: float, high: float, limit: float) -> str:
    if -limit < low and high < limit:
        return HELD
    return NOT_HELD if low > limit or high < -limit else UNDECIDED


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
