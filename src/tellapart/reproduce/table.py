"""A table of a paper as data: rows are recipes, columns are metrics, claims are inequalities between cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tellapart.core.errors import InputError
from tellapart.core.suggestions import did_you_mean
from tellapart.runs.recipe import Recipe


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    """The paper's heading."""
    metric: str
    """Name of the metric among the values of its measure."""
    measure: str = "retrieval"
    """What computes it: a name in `measures.MEASURES`, or in `derived_measures.DERIVED`."""
    decimals: int = 1
    in_folds: bool = False
    """Whether it is the mean over folds of 1,000 images, as in the paper, where the test split is large enough."""


@dataclass(frozen=True)
class Row:
    """One row of a table."""

    name: str
    recipe: Recipe
    """What the row trains. Without stages nothing is trained: its name is then one in `caption_measures.UNTRAINED`."""
    overrides: tuple[str, ...] = ()
    """Fields of the recipe that this row changes, such as `mle.epochs=3`."""
    published: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    """The paper's values by data set, in the order of the table's columns; None where it prints none."""


Rows = str | tuple[str, ...]
"""One row, or several whose mean is used."""


@dataclass(frozen=True)
class Greater:
    """`better` is more than `by` above `worse` in a column."""

    better: Rows
    worse: Rows
    column: str
    by: float = 0.0


@dataclass(frozen=True)
class Within:
    """Two rows differ by at most `limit` in a column."""

    first: Rows
    second: Rows
    column: str
    limit: float


@dataclass(frozen=True)
class Below:
    """A row is below `limit` in a column."""

    row: Rows
    column: str
    limit: float


@dataclass(frozen=True)
class Above:
    """A row is above `limit` in a column."""

    row: Rows
    column: str
    limit: float


@dataclass(frozen=True)
class SpreadBelow:
    """Runs of a row that differ in their seed only have a standard deviation below `limit` in a column."""

    row: str
    column: str
    limit: float


Check = Greater | Within | Below | Above | SpreadBelow


@dataclass(frozen=True)
class Claim:
    """A statement of a paper as inequalities."""

    text: str
    """What the paper says, in our words, and where it says so."""
    checks: tuple[Check, ...]
    """The claim holds if all of these do."""


@dataclass(frozen=True)
class Curve:
    """A metric over training, with one line per row of the table."""

    title: str
    keys: tuple[str, ...]
    """Its name in a run's log.jsonl; of several names, the first that a log row has."""
    logarithmic: bool = False


@dataclass(frozen=True)
class Sweep:
    """A setting that changes from row to row, as a plot: one panel per column, one line per list of rows."""

    setting: str
    lines: Mapping[str, tuple[tuple[float, str], ...]]
    """By the name of the line: (value of the setting, row that has it)."""


@dataclass(frozen=True)
class Table:
    """A table of a paper, or one of ours."""

    name: str
    """paper/table, as `tellapart reproduce` takes it."""
    paper: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    claims: tuple[Claim, ...] = ()
    curves: tuple[Curve, ...] = ()
    sweep: Sweep | None = None
    seeds: int = 3
    """Default number of runs per row."""
    notes: tuple[str, ...] = ()
    """What a reader must know: interpretations of the paper, differences of data or backbone."""
    pack_names: tuple[str, ...] = ()
    """docs/results.md shows only runs on packs whose name contains one of these. Default: all packs."""
    lacks: str = ""
    """What its rows need and no data at hand has. Its claims are then counted apart from those that wait for a run."""
    beyond: tuple[tuple[str, str], ...] = ()
    """(claim, what is lacking): claims of the paper that no row can state."""

    def only(self, rows: tuple[str, ...]) -> Table:
        """The table with only these rows, and the claims that need no others."""
        known = {row.name for row in self.rows}
        unknown = [name for name in rows if name not in known]
        if unknown:
            hint = did_you_mean(unknown[0], known) or f" Its rows are {', '.join(row.name for row in self.rows)}."
            raise InputError(f"{self.name} has no row '{unknown[0]}'.{hint}")
        kept = tuple(row for row in self.rows if row.name in rows)
        claims = tuple(claim for claim in self.claims if rows_of(claim) <= set(rows))
        return replace(self, rows=kept, claims=claims)


def rows_of(claim: Claim) -> set[str]:
    """All rows that a claim compares."""
    named: set[str] = set()
    for check in claim.checks:
        if isinstance(check, Greater):
            named |= {*as_rows(check.better), *as_rows(check.worse)}
        elif isinstance(check, Within):
            named |= {*as_rows(check.first), *as_rows(check.second)}
        else:
            named |= set(as_rows(check.row))
    return named


def as_rows(rows: Rows) -> tuple[str, ...]:
    """One or several rows as a tuple."""
    return (rows,) if isinstance(rows, str) else rows


RETRIEVAL = tuple(
    Column(f"{title} R@{cutoff}", f"{direction}_r{cutoff}")
    for direction, title in (("i2t", "I2T"), ("t2i", "T2I"))
    for cutoff in (1, 5, 10)
)
"""Recall in both directions, as retrieval papers tabulate it."""
RSUM = Column("R@sum", "rsum")
