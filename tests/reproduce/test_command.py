"""`tellapart reproduce` from the command line, and what it says when it cannot."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from tellapart.cli.main import main
from tellapart.cli.reproduce import ReproduceOptions, reproduce
from tellapart.core.errors import InputError
from tellapart.papers.tables import TABLES, find_tables
from tellapart.reproduce.budget import CostModel, parse_budget
from tellapart.reproduce.runner import run_tables
from tellapart.reproduce.settings import ReproduceSettings

pytestmark = pytest.mark.usefixtures("small_models")


def test_lists_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    assert "convse/table3" in capsys.readouterr().out


def pretend_epochs_take(seconds: float, patch: pytest.MonkeyPatch) -> None:
    """Estimates as for larger models."""
    patch.setattr(
        CostModel, "seconds", lambda self, job: seconds * sum(job.recipe.stages[index].epochs for index in job.trained)
    )


def within(budget: str, pack: Path, folder: Path, *rows: str) -> list[str]:
    arguments = ["convse/table3", "--data", str(pack), "--seeds", "1", "--rows", *rows, "--budget", budget]
    return ["reproduce", *arguments, "--cache", str(folder / "cache"), "--out", str(folder / "out")]


def test_table_within_a_budget(
    pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_epochs_take(5.0, monkeypatch)
    assert main(within("120s", pack, tmp_path, "VSE", "VSE++")) == 0
    assert "SHORTENED" in capsys.readouterr().out
    assert (tmp_path / "out" / "convse-table3.html").is_file()
    results = tmp_path / "results.md"
    assert main(["reproduce", "--results", str(results), "--cache", str(tmp_path / "cache")]) == 0
    assert "convse/table3" in results.read_text()


def test_a_budget_that_nothing_fits_into(
    pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_epochs_take(100.0, monkeypatch)
    assert main(within("30s", pack, tmp_path, "VSE")) == 1
    assert "--budget: even 0.1% of the epochs of 1 runs take about 205 s, more than 30 s." in capsys.readouterr().err


def test_a_run_that_takes_longer_than_estimated_is_stopped(
    pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The estimate says nothing; the run takes thousands of epochs. It ends in time, and the row says why."""
    pretend_epochs_take(0.0, monkeypatch)
    (table,) = find_tables(["convse/table3"])
    (row,) = (row for row in table.rows if row.name == "VSE")
    longer = tuple(replace(stage, epochs=10**5) for stage in row.recipe.stages)
    slow = replace(table, rows=(replace(row, recipe=replace(row.recipe, stages=longer)),), claims=())
    monkeypatch.setitem(TABLES, "convse/table3", slow)
    started = time.monotonic()
    assert main(within("15s", pack, tmp_path, "VSE")) == 0
    assert time.monotonic() - started < 300  # of hours
    assert "not finished in time" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Name a table"),
        (["convse/table9"], "Unknown table"),
        (["convse/table3"], "Name the pack"),
    ],
)
def test_says_what_is_missing(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str], pack: Path) -> None:
    data = ["--data", str(pack)] if says == "Unknown table" else []
    assert main(["reproduce", *arguments, *data]) == 1
    assert says in capsys.readouterr().err


def test_unknown_row(pack: Path, tmp_path: Path) -> None:
    options = ReproduceOptions(("convse/table3",), pack, rows=("VSE+++",), cache=tmp_path)
    with pytest.raises(InputError, match=r"has no row 'VSE\+\+\+'"):
        reproduce(options)


def test_report_only_trains_nothing(pack: Path, tmp_path: Path) -> None:
    options = ReproduceOptions(("convse/table1",), pack, cache=tmp_path / "c", out=tmp_path / "o", report_only=True)
    (filled,) = reproduce(options)
    assert set(filled.missing) == {"ConVSE", "ConVSE++"}


def test_report_only_finds_shortened_runs(pack: Path, tmp_path: Path) -> None:
    (table,) = find_tables(["convse/table1"])
    run_tables([table], ReproduceSettings(pack, tmp_path / "c", seeds=1, share=0.02))
    options = ReproduceOptions(("convse/table1",), pack, cache=tmp_path / "c", out=tmp_path / "o", report_only=True)
    (filled,) = reproduce(options)
    assert not filled.missing and filled.data.share == 0.02


@pytest.mark.parametrize("text", ["", "20", "-3m", "soon"])
def test_budgets_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="is not a duration"):
        parse_budget(text)
