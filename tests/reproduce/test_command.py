"""`tellapart reproduce` from the command line, and what it says when it cannot."""

from pathlib import Path

import pytest

from tellapart.cli.main import main
from tellapart.cli.reproduce import ReproduceOptions, reproduce
from tellapart.core.errors import InputError
from tellapart.papers.tables import find_tables
from tellapart.reproduce.budget import parse_budget
from tellapart.reproduce.runner import run_tables
from tellapart.reproduce.settings import ReproduceSettings

pytestmark = pytest.mark.usefixtures("small_models")


def test_lists_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    assert "convse/table3" in capsys.readouterr().out


def test_table_within_a_budget(pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["convse/table3", "--data", str(pack), "--seeds", "1", "--rows", "VSE", "VSE++", "--budget", "0.1s"]
    places = ["--cache", str(tmp_path / "cache"), "--out", str(tmp_path / "out")]
    assert main(["reproduce", *arguments, *places]) == 0
    assert "SHORTENED" in capsys.readouterr().out
    assert (tmp_path / "out" / "convse-table3.html").is_file()
    results = tmp_path / "results.md"
    assert main(["reproduce", "--results", str(results), "--cache", str(tmp_path / "cache")]) == 0
    assert "convse/table3" in results.read_text()


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
