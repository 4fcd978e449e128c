"""Which metrics are stored as fractions, as the help of `evaluate` and docs/metrics.md say."""

import re
from pathlib import Path

import pytest

from tellapart.cli.main import main
from tellapart.evaluation.format import FRACTIONS, in_percent, unit

ROOT = Path(__file__).parents[2]
NAMED = {
    "BLEU": ["bleu1", "bleu4"],
    "METEOR": ["meteor"],
    "ROUGE-L": ["rouge_l"],
    "CIDEr": ["cider", "cider_between"],
    "SPICE": ["spice"],
    "CHAIR": ["chair_i", "chair_s"],
    "nDCG": ["i2t_ndcg", "t2i_ndcg_rouge_l"],
    "R-precision": ["i2t_r_precision", "cxc_t2i_r_precision"],
    "mAP@R": ["eccv_i2t_map_at_r", "t2i_map_at_r"],
}


@pytest.mark.parametrize("names", NAMED.values(), ids=list(NAMED))
def test_fractions_are_shown_in_percent(names: list[str]) -> None:
    assert all(FRACTIONS.fullmatch(name) and in_percent(name, 0.5) == 50 and unit(name) == "%" for name in names)


@pytest.mark.parametrize("name", ["i2t_r1", "rsum", "judge_accuracy", "distinct_words_400", "loss", "median_rank"])
def test_others_are_stored_as_they_are_shown(name: str) -> None:
    assert in_percent(name, 0.5) == 0.5


def test_help_and_docs_name_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", "--help"])
    listed = ", ".join(list(NAMED)[:-1]) + f" and {list(NAMED)[-1]} as fractions"
    assert listed in " ".join((ROOT / "docs" / "metrics.md").read_text("utf-8").split())
    assert listed in " ".join(re.sub(r"[│|]", " ", capsys.readouterr().out).split())
