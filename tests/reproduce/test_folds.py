"""A paper that measures COCO in folds of 1,000 images is compared with the same."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart.core.files import write_json
from tellapart.metrics.retrieval.recall import fold_ranks, fold_recall, summarise
from tellapart.papers.tables import TABLES
from tellapart.reproduce.cache import Cache, Result
from tellapart.reproduce.draws import bootstrap_draws
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


def test_ranks_within_folds_give_the_recall_of_the_folds() -> None:
    scores = torch.randn(12, 24, generator=torch.Generator().manual_seed(0))
    owner = torch.arange(12).repeat_interleave(2)
    found = summarise(fold_ranks(scores, owner, 3))
    expected = fold_recall(scores, owner, 3)
    assert {name: found[name] for name in expected if "median" not in name} == pytest.approx(
        {name: value for name, value in expected.items() if "median" not in name}
    )


def test_recalls_in_folds_have_intervals() -> None:
    ranks = {name: np.zeros(size, np.int32) for name, size in (("ranks_i2t", 4), ("ranks_t2i", 8))}
    worse = {f"1k_{name}": array + 3 for name, array in ranks.items()}
    owner = np.arange(4, dtype=np.int32).repeat(2)
    items = {**ranks, **worse, "owner": owner, "1k_owner": owner}
    whole, folded = bootstrap_draws("rsum", items), bootstrap_draws("1k_rsum", items)
    assert whole is not None and folded is not None
    assert whole.mean() == 600.0 and folded.mean() == 400.0  # rank 3, from 0, is within 5 and 10, not within 1
