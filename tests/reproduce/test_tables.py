"""Every table is well formed; test_every_table.py runs them."""

import pytest

from tellapart.papers.convse import tables as convse
from tellapart.papers.ltd import tables as ltd
from tellapart.papers.ours import matcher_tables
from tellapart.papers.tables import TABLES
from tellapart.reproduce.measures import MEASURES
from tellapart.reproduce.table import Table, rows_of

RETRIEVAL = [table for paper in (convse, ltd, matcher_tables) for table in paper.TABLES]


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_is_well_formed(table: Table) -> None:
    rows, columns = {row.name for row in table.rows}, {column.name for column in table.columns}
    assert len(rows) == len(table.rows) and len(columns) == len(table.columns)
    for row in table.rows:
        assert all(len(figures) == len(columns) for figures in row.published.values())
    for claim in table.claims:
        assert rows_of(claim) <= rows and {check.column for check in claim.checks} <= columns
    assert table.name.count("/") == 1 and table.title


@pytest.mark.parametrize("table", RETRIEVAL, ids=lambda table: table.name)
def test_measures_exist_and_sums_are_right(table: Table) -> None:
    """R@sum as printed is the sum of the six recalls, up to their rounding (six halves of 0.1)."""
    assert {column.measure for column in table.columns} <= set(MEASURES)
    names = [column.name for column in table.columns]
    if "R@sum" in names and "I2T R@1" in names:
        place = names.index("R@sum")
        for row in table.rows:
            for figures in row.published.values():
                assert abs(sum(figures[:6]) - figures[place]) < 0.35, (row.name, figures)  # type: ignore[arg-type]
