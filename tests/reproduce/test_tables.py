"""Every table of the retrieval papers is well formed, and runs end to end in seconds."""

import json
from pathlib import Path

import pytest

from tellapart.data.pack import Pack
from tellapart.reproduce.cache import Cache
from tellapart.reproduce.collect import fill
from tellapart.reproduce.command import _data
from tellapart.reproduce.docs_results import write_results
from tellapart.reproduce.measures import MEASURES
from tellapart.reproduce.report import write_reports
from tellapart.reproduce.runner import run_rows
from tellapart.reproduce.table import Table, rows_of
from tellapart.reproduce.tables import TABLES, convse, find, ltd

pytestmark = pytest.mark.usefixtures("small_models")
OURS = [table for paper in (convse, ltd, find) for table in paper.TABLES]
SHARE = 0.01


@pytest.fixture(scope="module")
def cache(pack: Path, small_models: object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All tables at once, one seed, a hundredth of their epochs."""
    folder = tmp_path_factory.mktemp("cache")
    outcome = run_rows(OURS, pack, seeds=1, cache=folder, share=SHARE, tell=lambda text: None)
    assert not outcome.failed and not outcome.left
    return folder


@pytest.mark.parametrize("table", OURS, ids=lambda table: table.name)
def test_runs_and_reports(table: Table, cache: Path, pack: Path, tmp_path: Path) -> None:
    filled = fill(table, Cache(cache), _data(table, Pack(pack), (), SHARE))
    assert not filled.missing
    assert all((row.name, table.columns[0].name) in filled.cells for row in table.rows)
    paths = {path.suffix: path for path in write_reports(filled, tmp_path)}
    plain = json.loads(paths[".json"].read_text())
    assert plain["data"]["share_of_epochs"] == SHARE
    assert {claim["verdict"] for claim in plain["claims"]} <= {"held", "not held", "undecided"}
    for kind in (".md", ".html"):
        text = paths[kind].read_text()
        assert "SHORTENED" in text and table.rows[0].name.replace(">", "&gt;") in text
    assert (".svg" in paths) == bool(table.curves)
    assert not table.curves or "<svg" in paths[".html"].read_text()


def test_results_page_holds_every_table(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "docs" / "results.md"
    names = write_results(OURS, Cache(cache), path)
    assert set(names) == {table.name for table in OURS}
    text = path.read_text()
    assert all(f"## {table.name}" in text for table in OURS)
    assert (path.parent / "figures" / "ltd-figure3.svg").is_file() and "figures/ltd-figure3.svg" in text


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_is_well_formed(table: Table) -> None:
    rows, columns = {row.name for row in table.rows}, {column.name for column in table.columns}
    assert len(rows) == len(table.rows) and len(columns) == len(table.columns)
    for row in table.rows:
        assert all(len(figures) == len(columns) for figures in row.published.values())
    for claim in table.claims:
        assert rows_of(claim) <= rows and {check.column for check in claim.checks} <= columns
    assert table.name.count("/") == 1 and table.title


@pytest.mark.parametrize("table", OURS, ids=lambda table: table.name)
def test_measures_exist_and_sums_are_right(table: Table) -> None:
    """R@sum as printed is the sum of the six recalls, up to their rounding (six halves of 0.1)."""
    assert {column.measure for column in table.columns} <= set(MEASURES)
    names = [column.name for column in table.columns]
    if "R@sum" in names and "I2T R@1" in names:
        place = names.index("R@sum")
        for row in table.rows:
            for figures in row.published.values():
                assert abs(sum(figures[:6]) - figures[place]) < 0.35, (row.name, figures)  # type: ignore[arg-type]
