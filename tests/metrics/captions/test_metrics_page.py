"""The worked example in docs/metrics.md gives what it says."""

import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "metrics.md"


def test_the_worked_example_runs() -> None:
    failures, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert failures == 0 and tried > 8
