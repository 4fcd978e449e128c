"""CxC: its CSV files, positives across images, recall with any of them."""

from pathlib import Path

import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.metrics.retrieval.cxc import cxc_positives, cxc_recall, read_cxc

# The layout of the public files.
FILE = """caption,image,agg_score,sampling_method
COCO_val2014:sentid:11,COCO_val2014_000000000285.jpg,4.2,c2i_intrasim
COCO_val2014:sentid:22,COCO_val2014_000000000139.jpg,2.9,c2i_intrasim
COCO_val2014:sentid:22,COCO_val2014_000000000285.jpg,1.0,c2i_original
COCO_val2014:sentid:99,COCO_val2014_000000000285.jpg,5.0,c2i_intrasim
"""


def test_positives_are_own_captions_and_good_ratings(tmp_path: Path) -> None:
    """Caption 11 also fits image 285 (4.2); 22 does not fit 139 (2.9 < 3) and stays its own image's; 99
    is a stranger."""
    (tmp_path / "sits_val.csv").write_text(FILE)
    ratings = read_cxc(tmp_path / "sits_val.csv")
    assert len(ratings) == 4 and ratings[0].caption == 11
    positive = cxc_positives(ratings, ["000000000139", "285"], [11, 22], torch.tensor([0, 1]))
    assert positive.tolist() == [[True, False], [True, True]]


def test_recall_counts_any_positive() -> None:
    """Image 1 finds caption 0 first, which CxC allows; its R-precision is 2/2, image 0's 0/1."""
    scores = torch.tensor([[0.1, 0.9], [0.8, 0.7]])
    positive = torch.tensor([[True, False], [True, True]])
    found = cxc_recall(scores, positive)
    assert found["i2t_r1"] == 50 and found["t2i_r1"] == 50
    assert found["i2t_r_precision"] == 0.5
    assert found["t2i_r_precision"] == pytest.approx((1.0 + 0.0) / 2)


def test_other_files_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("caption,image,agg_score\nx,y\n")
    with pytest.raises(InputError, match="line 2"):
        read_cxc(tmp_path / "other.csv")
    pairs = "caption1,caption2,agg_score,sampling_method\nCOCO_val2014:sentid:1,COCO_val2014:sentid:2,1.24,c2c_isim\n"
    for text in (pairs, ""):
        (tmp_path / "sts_val.csv").write_text(text)
        with pytest.raises(InputError, match="line 1: expected the columns caption, image"):
            read_cxc(tmp_path / "sts_val.csv")
    with pytest.raises(InputError, match="Cannot read"):
        read_cxc(tmp_path / "none.csv")
