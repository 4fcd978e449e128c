"""The real data sets, whole: the counts that the data set's papers and its quirks give."""

import json
from pathlib import Path

import pytest

from tellapart.cli.prepare import PrepareOptions, prepare


@pytest.mark.slow
def test_flickr8k(shared_data: Path, tmp_path: Path) -> None:
    pack = prepare(PrepareOptions(str(shared_data / "flickr8k"), tmp_path / "pack"))
    report = json.loads((tmp_path / "pack" / "report.json").read_text())
    assert (report["pictures"], report["captions"]) == (8091, 40455)
    assert {name: row["pictures"] for name, row in report["splits"].items()} == {
        "train": 6000, "val": 1000, "test": 1000, "none": 91,
    }  # fmt: skip
    missing = [row["item"] for row in report["skipped"]["items"] if row["kind"] == "missing image"]
    assert missing == ["2258277193_586949ec62.jpg.1", "2258277193_586949ec62.jpg"]
    # 12 of the mentions stand in three sentences whose Flickr8k captions are cut to "A", "a" and "A basketball".
    assert report["phrases"]["mentions"] == 125930 and report["phrases"]["placed"] == 125918
    assert report["detections"]["pictures"] == 8091
    assert all(0 <= p.first < p.last <= len(pack.captions[p.caption].words) for p in pack.phrases)
    edges = [edge for p in pack.phrases for box in p.boxes for edge in box]
    assert min(edges) >= 0 and max(edges) <= 1


@pytest.mark.slow
def test_coco(shared_data: Path, tmp_path: Path) -> None:
    pack = prepare(PrepareOptions(str(shared_data / "coco"), tmp_path / "pack", nouns=False))
    assert len(pack.split("train").images) == 8000 and len(pack.split("val").images) == 1000
    assert len(pack.captions) == 45022
