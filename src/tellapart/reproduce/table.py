"""A table of a paper as data: rows are recipes, columns are figures, claims are inequalities between cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tellapart.core.errors import InputError
from tellapart.runs.recipe import Recipe


@dataclass(frozen=True)
class Column:
    name: str
    """As the paper heads it."""
    metric: str
    """Name of the figure among those its measure gives."""
    measure: str = "retrieval"
    """What makes the figure: a name in `measures.MEASURES`, or in `later_measures.LATER`."""
    decimals: int = 1
    in_folds: bool = False
    """Where a test split is large enough, the mean over folds of 1,000 images, as the paper has it on COCO."""


@dataclass(frozen=True)
class Row:
    name: str
    recipe: Recipe
    """What the row trains. Without stages nothing is trained: its name is then one in `caption_measures.UNTRAINED`."""
    overrides: tuple[str, ...] = ()
    """Fields of the recipe this row changes, as `tellapart train --set` takes them."""
    published: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    """The paper's figures by data set, in the order of the table's columns; None where it prints none."""


Rows = str | tuple[str, ...]
"""One row, or several whose mean is meant."""


@dataclass(frozen=True)
class Greater:
    """`better` lies more than `by` above `worse` in a column."""

    better: Rows
    worse: Rows
    column: str
    by: float = 0.0


@dataclass(frozen=True)
class Within:
    """Two rows lie at most `limit` apart in a column."""

    first: Rows
    second: Rows
    column: str
    limit: float


@dataclass(frozen=True)
class Below:
    """A row stays below `limit` in a column."""

    row: Rows
    column: str
    limit: float


@dataclass(frozen=True)
class Above:
    """A row stays above `limit` in a column."""

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
    text: str
    """What the paper says, in our words, with the place where it says so."""
    checks: tuple[Check, ...]
    """The claim holds when all of these do."""


@dataclass(frozen=True)
class Curve:
    """A figure followed through training, one line a row of the table."""

    title: str
    keys: tuple[str, ...]
    """Its name in a run's log.jsonl; of several, the first that a line has."""
    logarithmic: bool = False


@dataclass(frozen=True)
class Sweep:
    """A setting that changes from row to row, drawn as a figure: one panel a column, one line a list of rows."""

    setting: str
    lines: Mapping[str, tuple[tuple[float, str], ...]]
    """By the line's name: (the setting's value, the row that has it)."""


@dataclass(frozen=True)
class Table:
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
    """Runs of each row when the caller does not say."""
    notes: tuple[str, ...] = ()
    """What a reader must know: readings of the paper, differences of data or backbone."""
    pack_name: str = ""
    """Only packs whose name has this in it show what the table is about; runs on others stay out of docs/results.md."""

    def row(self, name: str) -> Row:
        return next(row for row in self.rows if row.name == name)

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    def only(self, rows: tuple[str, ...]) -> Table:
        """The table with these rows alone, and the claims that can still be judged."""
        known = {row.name for row in self.rows}
        unknown = [name for name in rows if name not in known]
        if unknown:
            raise InputError(
                f"{self.name} has no row '{unknown[0]}'; its rows are {', '.join(row.name for row in self.rows)}."
            )
        kept = tuple(row for row in self.rows if row.name in rows)
        claims = tuple(claim for claim in self.claims if rows_of(claim) <= set(rows))
        return replace(self, rows=kept, claims=claims)


def rows_of(claim: Claim) -> set[str]:
    """All rows a claim speaks of."""
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
    return (rows,) if isinstance(rows, str) else rows


RETRIEVAL = tuple(
    Column(f"{title} R@{cutoff}", f"{direction}_r{cutoff}")
    for direction, title in (("i2t", "I2T"), ("t2i", "T2I"))
    for cutoff in (1, 5, 10)
)
"""Recall both ways, as every retrieval paper tabulates it."""
RSUM = Column("R@sum", "rsum")
