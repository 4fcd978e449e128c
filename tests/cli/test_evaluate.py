"""`tellapart evaluate` from a source on disk to figures in a file."""

import json
from pathlib import Path

import numpy as np
import pytest

from data.builders import coco, draw
from small_recipes import small_recipe
from tellapart.cli.main import main
from tellapart.core.files import save_array, write_json
from tellapart.data.pack import Pack
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe

THINGS = ("dog", "cat", "ball", "boat")


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A pack of eight COCO images with two captions each, half of them for validation, and a matcher's run."""
    names = {number: f"COCO_val2014_{number:012d}.jpg" for number in range(1, 9)}
    draw(tmp_path / "in", list(names.values()))
    for split, numbers in (("train", range(1, 5)), ("val", range(5, 9))):
        said = [
            (10 * number + k, number, text.format(THINGS[number % 4]))
            for number in numbers
            for k, text in enumerate(("A {} here .", "One {} ."))
        ]
        coco(tmp_path / f"in/captions_{split}2014.json", {number: names[number] for number in numbers}, said)
    assert main(["prepare", str(tmp_path / "in"), "--out", str(tmp_path / "pack"), "--min-count", "1"]) == 0
    pack = Pack(tmp_path / "pack")
    folder = pack.feature_folder("vector")
    folder.mkdir(parents=True)
    np.random.default_rng(0).standard_normal((8, 16)).astype(np.float16).tofile(folder / "values.f16")
    save_array(folder / "offsets.npy", np.arange(9))
    write_json(folder / "features.json", {"kind": "vector", "width": 16})
    settings = TrainSettings(pack.folder, tmp_path / "run", set=("base.epochs=1",))
    train_recipe(small_recipe("vse++"), settings)
    return tmp_path


def test_cxc_files_are_read(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every caption is rated 4 with every image: whatever comes first is right, both ways, and R-precision is 1."""
    rows = [
        f"COCO_val2014_{n:012d}.jpg:{10 * n + k},COCO_val2014_{other:012d}.jpg,4.0,c2i_intrasim"
        for n in range(5, 9)
        for k in (0, 1)
        for other in range(5, 9)
    ]
    (world / "sits_val.csv").write_text("\n".join(["caption,image,agg_score,sampling_method", *rows]))
    asked = ["evaluate", str(world / "run"), "--data", str(world / "pack"), "--split", "val"]
    assert main([*asked, "--cxc", str(world / "sits_val.csv")]) == 0
    figures = json.loads((world / "run" / "evaluation-val.json").read_text())
    assert figures["cxc_i2t_r1"] == figures["cxc_t2i_r1"] == 100 and figures["cxc_rsum"] == 600
    assert figures["cxc_i2t_r_precision"] == 1 and figures["i2t_r1"] <= 100 and "t2i_ndcg_rouge" in figures
    assert main([*asked, "--cxc", str(world / "lost.csv")]) == 1
    assert "Cannot read the CxC file" in capsys.readouterr().err


def test_a_captioner_is_judged(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The metrics of distinctive captions, and the accuracy of a matcher as judge among the four images."""
    settings = TrainSettings(world / "pack", world / "captioner", set=("nt.epochs=1",))
    train_recipe(small_recipe("neuraltalk2"), settings)
    asked = ["evaluate", str(world / "captioner"), "--data", str(world / "pack"), "--split", "val"]
    assert main([*asked, "--judge", str(world / "run")]) == 0
    found = json.loads((world / "captioner" / "evaluation-val.json").read_text())
    assert found["judge_among"] == 4 and found["judge_accuracy"] in (0, 25, 50, 75, 100)
    assert 0 <= found["chair_i"] <= 1 and found["cider_between"] >= 0 and found["distinct_words_400"] >= 1
    capsys.readouterr()
    assert main([*asked, "--judge", str(world / "captioner")]) == 1
    assert "not a matcher" in capsys.readouterr().err
    matcher = ["evaluate", str(world / "run"), "--data", str(world / "pack"), "--split", "val"]
    assert main([*matcher, "--judge", str(world / "run")]) == 1
    assert "evaluate a captioner" in capsys.readouterr().err
