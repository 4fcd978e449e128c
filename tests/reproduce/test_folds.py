"""A paper that measures COCO in folds of 1,000 images is compared with the same."""

from dataclasses import asdict
from pathlib import Path

import pytest

from tellapart.core.files import write_json
from tellapart.papers.tables import TABLES
from tellapart.reproduce.cache import Cache, Result
from tellapart.reproduce.fill import Data, Filled, fill
from tellapart.reproduce.report_markdown import notes
from tellapart.reproduce.row_recipes import row_hash


def filled(name: str, row: str, figures: dict[str, float], cache: Path) -> Filled:
    table = TABLES[name].only((row,))
    made = ("print", "coco", "vector", 1.0, "test", 1.0, "cpu")
    result = Result("key", row_hash(table.rows[0]), {}, 0, *made, {"retrieval": figures})
    write_json(cache / "results" / "key" / "result.json", asdict(result))
    return fill(table, Cache(cache), Data("coco", "print", {"vector": "vector"}))


@pytest.mark.parametrize(
    ("table", "row", "figures", "expected"),
    [
        ("convse/table3", "MVN", {"rsum": 200.0, "1k_rsum": 400.0}, 400.0),
        ("convse/table3", "MVN", {"rsum": 200.0}, 200.0),  # a smaller split has no folds
        ("ltd/table2", "BL", {"rsum": 200.0, "1k_rsum": 400.0}, 200.0),  # LTD ranks all 5,000 at once
    ],
)
def test_as_the_paper_measures(
    table: str, row: str, figures: dict[str, float], expected: float, tmp_path: Path
) -> None:
    found = filled(table, row, figures, tmp_path)
    assert found.cells[row, "R@sum"].values == {0: expected}
    assert any("folds of 1,000" in line for line in notes(found)) == (expected == 400)
