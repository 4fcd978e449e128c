"""The order that decides most claims for the time, on jobs whose times are known."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from tellapart.reproduce.claim_order import (
    OpenClaim,
    claim_order,
    longest_first,
    more_runs_may_decide,
    open_claims,
    scheduled,
)
from tellapart.reproduce.claims import HELD, SPANS, UNDECIDED, CheckedClaim, CheckResult, check_claim
from tellapart.reproduce.fill import Data, Filled
from tellapart.reproduce.jobs import Job, Plan
from tellapart.reproduce.statistics import Cell, Estimate
from tellapart.reproduce.table import Above, Check, Claim, Column, Greater, Row, Table
from tellapart.runs.recipe import Recipe

RECIPE = Recipe(name="r", paper="", about="", stages=())
SECONDS = {"A": 10.0, "B": 20.0, "C": 15.0, "D": 5.0, "E": 70.0, "F": 13.0, "G": 90.0}
"""Of one run of each row."""


def job_of(key: str, base: str | None = None) -> Job:
    return Job(key, RECIPE, "", None, key=key, measures=("retrieval",), base=base)


@dataclass(frozen=True)
class Case:
    """A table of rows A to G whose jobs are named by row and seed, such as A0; some are done already."""

    checks: Sequence[tuple[Check, ...]]
    """Of each claim."""
    cells: dict[str, Cell]
    """What the cache holds, by row."""
    bases: dict[str, str]
    """By key of the job."""
    seeds: int = 2
    skipped: tuple[str, ...] = ()

    @property
    def filled(self) -> Filled:
        rows = tuple(Row(name, RECIPE) for name in SECONDS)
        claims = tuple(Claim(f"claim {number}", checks) for number, checks in enumerate(self.checks))
        table = Table("t/t", "", "", rows=rows, columns=(Column("c", "c"),), claims=claims)
        cells = {(row, "c"): cell for row, cell in self.cells.items()}
        checked = tuple(check_claim(claim, cells) for claim in claims)
        results = {row: () for row in self.cells}
        return Filled(table, Data("", "", {}), cells=cells, claims=checked, results=results, curves={}, missing={})

    @property
    def planned(self) -> Plan:
        rows = {("t/t", row): tuple(f"{row}{seed}" for seed in range(self.seeds)) for row in SECONDS}
        kept = {row: keys for row, keys in rows.items() if row[1] not in self.skipped}
        keys = dict.fromkeys([*(key for own in kept.values() for key in own), *self.bases.values()])
        return Plan(tuple(job_of(key, self.bases.get(key)) for key in keys), {}, kept)

    @property
    def pending(self) -> dict[str, Job]:
        done = {f"{row}{seed}" for row, cell in self.cells.items() for seed in cell.values}
        return {
            job.key: replace(job, needed_later=job.key in self.bases.values())
            for job in self.planned.jobs
            if job.key not in done
        }

    @property
    def claims(self) -> list[OpenClaim]:
        return open_claims(self.filled, self.planned, self.pending)

    @property
    def seconds(self) -> dict[str, float]:
        return {key: SECONDS.get(key[0], 1.0) for key in self.pending}

    @property
    def order(self) -> list[str]:
        return claim_order(self.claims, self.pending, self.seconds)


def case(
    *checks: Check | tuple[Check, ...],
    cells: dict[str, Cell] | None = None,
    bases: dict[str, str] | None = None,
    seeds: int = 2,
    skipped: tuple[str, ...] = (),
) -> Case:
    listed = tuple(check if isinstance(check, tuple) else (check,) for check in checks)
    return Case(listed, cells or {}, bases or {}, seeds, skipped)


THREE = case(Greater("A", "B", "c"), Greater("C", "F", "c"), Greater("B", "D", "c"))


def test_the_claim_that_lacks_least_is_next() -> None:
    """Two seeds of each row: A takes 20 s, B 40, C 30, D 10, F 26; E takes 140 and G 180, and no claim needs them.

    claim        at first         after B > D    after A > B
    A > B        20 + 40 = 60     20 (A)         -
    C > F        30 + 26 = 56     56             56
    B > D        40 + 10 = 50     -              -

    So B > D is first and A > B second, since B is there by then: alone, C > F would be the cheaper one. Each claim has
    seed 0 of its rows before seed 1. G and E come last, the longer one first.
    """
    order = ["B0", "D0", "B1", "D1", "A0", "A1", "C0", "F0", "C1", "F1", "G0", "G1", "E0", "E1"]
    assert THREE.order == order
    done = scheduled(order, THREE.claims, THREE.pending, THREE.seconds)
    assert [one.job.key for one in done] == order
    assert [one.claims for one in done] == [0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3]
    assert [one.seconds for one in done[:3]] == [20.0, 5.0, 20.0]


def test_a_row_that_two_claims_compare_is_run_once() -> None:
    assert len(THREE.order) == len(set(THREE.order)) == len(THREE.pending)


def test_the_longest_first_decides_less() -> None:
    """The same jobs in the other order: the first claim has its runs after B, C, F and A of both seeds."""
    order = longest_first(THREE.pending, THREE.seconds)
    assert order[:6] == ["G0", "G1", "E0", "E1", "B0", "B1"]
    done = scheduled(order, THREE.claims, THREE.pending, THREE.seconds)
    assert sum(one.seconds for one in done if not one.claims) > 300


HIGH, LOW = Cell({0: 10.0, 1: 10.1}), Cell({0: 5.0, 1: 5.1})


def test_decided_claims_cost_nothing_and_add_nothing() -> None:
    """G > F is decided with two seeds, so that their third seeds wait until the end, although A > B costs 30 s each."""
    decided = case(Greater("G", "F", "c"), Greater("A", "B", "c"), cells={"G": HIGH, "F": LOW}, seeds=3)
    assert [claim.text for claim in decided.claims] == ["claim 1"]
    assert decided.order[:6] == ["A0", "B0", "A1", "B1", "A2", "B2"]
    assert decided.order.index("F2") > decided.order.index("E2")


def test_decided_checks_of_an_open_claim_cost_nothing() -> None:
    checks = Greater("G", "F", "c"), Greater("A", "B", "c")
    (claim,) = case(checks, cells={"G": HIGH, "F": LOW}, seeds=3).claims
    assert claim.jobs == ("A0", "B0", "A1", "B1", "A2", "B2")


def test_only_pending_jobs_count() -> None:
    """A has seed 0 already: A > D lacks 10 + 2 * 5 = 20 s, less than the 26 of F alone."""
    part = case(Above("F", "c", 1.0), Greater("A", "D", "c"), cells={"A": Cell({0: 1.0})})
    assert part.order[:5] == ["D0", "A1", "D1", "F0", "F1"]


def test_a_base_comes_before_its_jobs() -> None:
    """A0 and B0 start from x, which starts from w; both are there once, before the first of them."""
    shared = case(Greater("A", "B", "c"), bases={"A0": "x", "B0": "x", "x": "w", "B1": "y"})
    assert shared.order[:7] == ["w", "x", "A0", "B0", "A1", "y", "B1"]
    assert shared.claims[0].jobs == ("w", "x", "A0", "B0", "A1", "y", "B1")


def test_bases_count_as_time_of_the_claim() -> None:
    """F takes 26 s and the base of F0 one more, D > A takes 30; with a base of 20 s it is the other way round."""
    based = case(Above("F", "c", 1.0), Greater("D", "A", "c"), bases={"F0": "x"})
    assert based.order[:3] == ["x", "F0", "F1"]
    slow = claim_order(based.claims, based.pending, {**based.seconds, "x": 20.0})
    assert slow[:4] == ["A0", "D0", "A1", "D1"]


def test_bases_of_jobs_without_claims_come_first_among_them() -> None:
    alone = case(Above("A", "c", 1.0), bases={"D0": "x"})
    assert alone.order[:3] == ["A0", "A1", "x"]
    assert alone.order.index("x") < alone.order.index("D0")


def test_a_claim_about_a_row_that_cannot_be_run_is_not_worth_a_run() -> None:
    blocked = case(Greater("D", "A", "c"), Greater("C", "F", "c"), skipped=("A",))
    assert [claim.text for claim in blocked.claims] == ["claim 1"]


def test_a_row_that_cannot_be_run_but_has_results_counts() -> None:
    blocked = case(Greater("D", "A", "c"), cells={"A": Cell({0: 1.0})}, skipped=("A",))
    assert [claim.jobs for claim in blocked.claims] == [("D0", "D1")]


def test_a_claim_whose_runs_are_all_made_is_closed() -> None:
    wild = {"A": Cell({0: 0.0, 1: 20.0}), "B": Cell({0: 9.0, 1: 1.0})}
    closed = case(Greater("A", "B", "c"), cells=wild)
    assert closed.filled.claims[0].verdict == UNDECIDED and not closed.claims


@pytest.mark.parametrize(("seeds", "more"), [((3, 4), True), ((5, 4), True), ((5, 5), False), ((6, 9), False)])
def test_intervals_that_span_the_bound(seeds: tuple[int, ...], more: bool) -> None:
    """More seeds are worth their time up to five; a check that is decided has no say."""
    checks = tuple(CheckResult("", UNDECIDED, Estimate(0.0, -1.0, 1.0, "", count), SPANS) for count in seeds)
    decided = CheckResult("", HELD, Estimate(2.0, 1.0, 3.0, "", 1))
    assert more_runs_may_decide(CheckedClaim(Claim("", ()), UNDECIDED, (*checks, decided))) == more
